// expect.mjs — what the client holds in the end of each script of tests/support/events_scripts.c. Where nothing is said: completed, no messages, no calls.
export const expect = {
  text: { messages: ['completed Hello, "world"\n'], who: 'main' },
  reasoning: { messages: ['completed Four.'] },
  parallel: {
    messages: ['completed Both.', 'completed 18 degrees at noon.'],
    calls: ['completed c1 weather {"city":"Tokyo"} 18; c2 clock {"zone":"JST"} {"time":"12:00"}'],
  },
  failing: { messages: ['completed Sorry.'], calls: ['completed c1 weather {} no such city'] },
  denied: {
    status: 'requires_action completed', messages: ['completed As you wish.'], calls: ['completed c1 remove {"path":"/"} denied by the user'],
    approvals: ['c1 remove {"path":"/"}'],
  },
  approved: {
    status: 'requires_action completed', messages: ['completed Gone.'], calls: ['completed c1 remove {"path":"/tmp/x"} null'],
    approvals: ['c1 remove {"path":"/tmp/x"}'],
  },
  client: {
    status: 'requires_action completed', messages: ['completed Where are you?', 'completed There.'],
    calls: ['completed c1 locate {} {"lat":1.50}'], asked: ['c1 locate {}'],
  },
  cancel_text: { status: 'cancelled', messages: ['incomplete Once upon'] },
  cancel_input: { status: 'cancelled', messages: ['incomplete Looking.'] },
  cancel_tool: { status: 'cancelled', calls: ['cancelled c1 search {} null'] },
  provider_error: { status: 'failed', messages: ['incomplete Well'], error: 'the provider is overloaded' },
  void: { messages: ['incomplete ', 'completed Right'] },
  void_input: { messages: ['completed None.'], calls: ['completed c1 search {"q":"b"} []'] },
  media: { messages: ['completed See:|and|<https://example.org/a.jpg>'] },
  rounds: { messages: ['completed Seen.'], calls: ['completed a1 look {} {"n":1}', 'completed a2 look {} no'] },
  three_steps: { messages: ['completed Done.'], calls: ['completed c1 a {} 1', 'completed c2 b {"x":1} two'] },
  bad_arguments: { messages: ['completed Again.'], calls: ['completed c1 search {"q":oops the arguments are not JSON'] },
  phases: { messages: ['completed I should search.'], calls: ['completed c1 search {} true'] },
  no_tape: { messages: ['completed Hello'], calls: ['completed c1 search {"q":1} {"__proto__":{"x":1}}'] },
  child: {
    status: 'requires_action completed', calls: ['completed c1 ask_helper {} helped; d1 locate {} here'], asked: ['d1 locate {}'],
  },
  child_answer: {
    status: 'requires_action completed', calls: ['completed c1 ask_helper {} helped; d1 locate {} here'], asked: ['d1 locate {}'],
  },
  react: { messages: ['completed Seven.'], calls: ['completed c1 search {} 7'] },
  plan: { messages: ['completed One.', 'completed Two.'] },
  handoff: { messages: ['completed Travel Planner?', 'completed Go out.'], who: 'main agent2' },
  event: { messages: ['incomplete ', 'incomplete ', 'completed Right'] },
};
