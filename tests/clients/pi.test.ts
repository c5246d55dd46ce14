import { agentBehaviour } from './agent-behaviour.ts'
import { findClient } from './install-clients.ts'

agentBehaviour('pi', await findClient('pi'))
