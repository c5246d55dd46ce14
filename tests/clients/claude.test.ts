import { agentBehaviour } from './agent-behaviour.ts'
import { startClaude } from './drive.ts'
import { findClient } from './install-clients.ts'

agentBehaviour({
  installed: await findClient('claude'),
  start: (program, job) => startClaude({ program, ...job }),
  sees: {
    text: (text) => ({ is_error: false, content: [{ type: 'text', text }] }),
    structure: (value) => ({ is_error: false, content: JSON.stringify(value) }),
    error: (text) => ({ is_error: true, content: text }),
    unknownTool: /No such tool available: mcp__lab__echo/,
  },
})
