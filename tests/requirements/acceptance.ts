/** AM: the acceptance scenarios, each with Claude Code and with Codex. */
import { built, type Requirement } from './requirement.ts'

export const acceptance: readonly Requirement[] = [
  built(
    'AM-1',
    'read tool with text and structure; no approval',
    'tests/clients/agent-behaviour.ts › calls granted tools, and the model is told what the upstream said',
  ),
  built(
    'AM-2',
    'a write is approved, sent once, and read back',
    'tests/clients/approvals.test.ts › the call is held until it is approved, sent once, and answered',
  ),
  built(
    'AM-3',
    'a write is denied, or its approval expires: nothing is sent',
    'tests/clients/approvals.test.ts › denied, the model is told so and what to do next, and nothing is sent',
    'tests/clients/approvals.test.ts › decided by nobody, the model is told so and what to do next, and nothing is sent',
  ),
  built(
    'AM-4',
    'an unattended write with its grant, and refused without',
    'tests/clients/agent-behaviour.ts › a write acts once within its limits, and outside them is refused with the field',
    'tests/clients/agent-behaviour.ts › a tool outside the grant is not offered and cannot be called by name',
  ),
  built(
    'AM-5',
    'arguments outside the grant are refused before dispatch with the field',
    'tests/clients/agent-behaviour.ts › a write acts once within its limits, and outside them is refused with the field',
  ),
  built(
    'AM-6',
    'errors of a tool and of the protocol are preserved',
    'tests/clients/agent-behaviour.ts › calls granted tools, and the model is told what the upstream said',
  ),
  built(
    'AM-7',
    'a cut connection after dispatch is unknown, never sent again, resolved by a person',
    'tests/system/unknown.test.ts › identical calls are refused in every session of the owner, with the id of the one that is unknown',
    'tests/system/unknown.test.ts › not applied and allowed again, it runs once more, with an approval of its own',
  ),
  built(
    'AM-8',
    'OAuth refresh with rotation during a session',
    'tests/oauth/gateway-calls.test.ts › a token the server does not take any more costs a read nothing: it is sent once more with the new one',
    'tests/oauth/gateway-two.test.ts › one rotation for each round, whoever was first; both go on with it, and none is broken',
  ),
  built(
    'AM-9',
    'a credential revoked during a session, then connected again',
    'tests/oauth/gateway-disconnect.test.ts › disconnecting revokes both tokens at the authorization server, the refresh token first',
    'tests/oauth/gateway-revocations.test.ts › %s revokes both tokens, the refresh token first',
    'tests/oauth/gateway-approved.test.ts › but a connection that was %s meanwhile: not a byte',
  ),
  built(
    'AM-10',
    'a broken OAuth grant, and another account',
    'tests/oauth/gateway-outcomes.test.ts › %s: the credential is broken, nothing is sent with it, and a person signs in again',
    'tests/oauth/gateway-outcomes.test.ts › another account at a new sign-in does not resume open sessions; the same one does',
  ),
  built(
    'AM-11',
    'guest isolation: no direct way, no secret, no tool that was not bound',
    'tests/sandbox/ways-out.test.ts › within walls none of them does, and no name is answered',
    'tests/leaks/leaks.test.ts › a command that uses its tools and its model leaves no secret anywhere',
    'tests/harnesses/harness-behaviour.ts › under a profile that grants no tool it has none, whatever the workspace brings',
  ),
  built(
    'AM-12',
    'closed until verified; a call in flight survives a restart; a clean end',
    'tests/sandbox/verified.test.ts › a guest in a verified sandbox calls its tools; nobody else does, at any time',
    'tests/sandbox/continue.test.ts › killed while its approved write is at the upstream: the next one is given the answer',
    'tests/sandbox/kill.test.ts › %s: nothing of it stays, and the session ends',
  ),
]
