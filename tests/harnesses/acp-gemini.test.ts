import { acpBehaviour } from './acp-behaviour.ts'

// Strict mode names the one server that it may use, and a server that is named it does not ask for.
await acpBehaviour('gemini', { asks: 'other servers' })
