import { agentBehaviour } from './agent-behaviour.ts'
import { findClient } from './install-clients.ts'

agentBehaviour('opencode', await findClient('opencode'))
