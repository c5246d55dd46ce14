import { acpBehaviour } from './acp-behaviour.ts'

await acpBehaviour('codex', { asks: 'writes' })
