// A chat with an agent of Weft: send, stop, try again, approve; a page that is loaded again goes on where it was.
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';

const weft = new URLSearchParams(location.search).get('weft') ?? 'http://127.0.0.1:8787';
const id = (location.hash ||= `#${crypto.randomUUID()}`).slice(1); // the chat of this page
const headers = { 'weft-ai-sdk': '7' };
let whole; // the last message that was loaded whole: the stream is that of a newer answer, also if it has just ended
const transport = new DefaultChatTransport({ api: `${weft}/api/chat`, headers,
  prepareReconnectToStreamRequest: () => ({ api: `${weft}/api/chat/${id}/stream?after=${encodeURIComponent(whole?.id ?? '')}` }) });

function Part({ part, answer }) {
  if (part.type === 'text') return <p>{part.text}</p>; // a run may write several: steps of a plan, before and after tools, after a handoff
  if (part.state !== 'approval-requested') return part.type.startsWith('tool-') ? <code>{part.type.slice(5)}: {part.state} </code> : null;
  return <p>{part.type.slice(5)} {JSON.stringify(part.input)}
    <button onClick={() => answer({ id: part.approval.id, approved: true })}>Allow</button>
    <button onClick={() => answer({ id: part.approval.id, approved: false })}>Deny</button></p>;
}

function Page({ messages: begin }) {
  const [text, setText] = useState('');
  const { messages, sendMessage, regenerate, stop, status, error, addToolApprovalResponse } = useChat({
    id, transport, messages: begin, resume: true, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
  const end = () => fetch(`${weft}/api/chat/${id}/stop`, { method: 'POST' }).then(stop); // stop alone ends only the reading
  return <main>
    {messages.map((m) => <div key={m.id} className={m.role}><b>{m.role}: </b>
      {m.parts.map((p, i) => <Part key={i} part={p} answer={addToolApprovalResponse} />)}</div>)}
    <p id="status">{error ? error.message : status}</p>
    <form onSubmit={(e) => { e.preventDefault(); sendMessage({ text }); setText(''); }}>
      <input value={text} onChange={(e) => setText(e.target.value)} autoFocus /> <button>Send</button>
    </form>
    <button onClick={end}>Stop</button> <button onClick={() => regenerate()}>Again</button>
  </main>;
}

fetch(`${weft}/api/chat/${id}`).then((r) => (r.ok ? r.json() : [])) // 404: a new chat
  .then((messages) => {
    whole = messages.findLast((m) => !m.metadata?.weft?.partial);
    createRoot(document.getElementById('page')).render(<Page messages={messages} />);
  });
