import { acpBehaviour } from './acp-behaviour.ts'

await acpBehaviour('opencode')
