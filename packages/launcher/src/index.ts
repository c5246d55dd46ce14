/**
 * Sandboxes and what runs in them: each is made with its guest stopped, looked at from outside, and released when it is as
 * planned. Nothing of a guest's own runs before that, and nothing of it is taken away before it is proved gone.
 */
export { acpHarnesses } from './acp/acp-adapter.ts'
export { AcpConversation, type AcpStart } from './acp/conversation.ts'
export {
  type AskedForm,
  type FormAnswer,
  type FormField,
  type FormValue,
  readAnswer,
  type Wanted,
} from './acp/elicitation.ts'
export {
  type AcpPermissions,
  type AskedPermission,
  acpPermissions,
  judgePermission,
} from './acp/permission.ts'
export type { AcpEvent } from './acp/update.ts'
export { bubblewrap } from './bubblewrap/bubblewrap.ts'
export { whatBubblewrapLacks } from './bubblewrap/find-bubblewrap.ts'
export { terminalEnvironment } from './guest/environment.ts'
export { guestPlaces } from './guest/places.ts'
export { agentAdapter } from './harness/agent-adapter.ts'
export { type AgentName, agentNames } from './harness/agent-program.ts'
export { agentPrograms, allAgentPrograms } from './harness/agent-programs.ts'
export { genericHarness } from './harness/generic.ts'
export type * from './harness/harness-adapter.ts'
export { type Delivery, settingsText } from './harness/mcp-entry.ts'
export type { ModelAccess } from './model-relay/model-access.ts'
export {
  type ModelProviderName,
  modelProviderNames,
  modelProviders,
} from './model-relay/model-provider.ts'
export { type ModelUpstream, modelUpstream } from './model-relay/model-upstream.ts'
export { noSandbox } from './none/none.ts'
export {
  directModelAccess,
  type GuestReach,
  modelAccess,
  reachWithKeyInside,
} from './outlets/guest-reach.ts'
export { type Finding, type SandboxReport, verifySandbox } from './probe/verify-sandbox.ts'
export { checkHostRules } from './proxy/allowed-hosts.ts'
export { newChannelFolder, runtimeFolder } from './run/channel.ts'
export { runGuest } from './run/run-guest.ts'
export type * from './run/run-request.ts'
export type { SessionPort } from './run/session-port.ts'
export type * from './sandbox.ts'
