// Envelope multiagent-1.0. Made from the table that also checks envelopes.

export type Intent = "plan" | "decompose" | "execute" | "route" | "retrieve" | "analyze" | "summarize" | "reflect" | "finalize" | "tool.call";

export interface AgentRef {
  id: string;
  name: string;
  model: string;
  version?: string;
}

export interface ResourceRef {
  type: "url" | "file" | "db" | "tool";
  id: string;
  hint?: string;
}

export interface Envelope {
  protocol: "multiagent-1.0";
  role: "agent" | "user" | "system" | "tool";
  agent?: AgentRef;
  /** RFC 3339, with an offset */
  timestamp: string;
  /** what the message advances */
  intent: Intent;
  /** its purpose, in a sentence */
  task: string;
  inputs?: {
    context?: string;
    resources?: ResourceRef[];
    parameters?: Record<string, unknown>;
  };
  content: {
    type: "text" | "code" | "json" | "tool_result" | "error";
    /** what is said; a summary where the type is not text */
    text?: string;
    data?: unknown;
  };
  outputs?: {
    artifacts?: {
      kind: string;
      name: string;
      uri?: string | null;
      inline?: string;
    }[];
    /** steps that are proposed */
    next_actions?: {
      intent: Intent;
      task: string;
      args?: Record<string, unknown>;
    }[];
  };
  confidence?: {
    score: number;
    rationale?: string;
    risks?: string[];
  };
  /** where it comes from, and what it cost */
  trace?: {
    parents?: string[];
    id?: string;
    tags?: string[];
    cost?: {
      input_tokens?: number;
      output_tokens?: number;
    };
  };
}
