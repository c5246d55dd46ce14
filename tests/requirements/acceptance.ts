/** AM: the acceptance scenarios, each with Claude Code and with Codex. */
import { built, planned, type Requirement } from './requirement.ts'

export const acceptance: readonly Requirement[] = [
  built(
    'AM-1',
    'read tool with text and structure; no approval',
    'tests/clients/agent-behaviour.ts › calls granted tools, and the model is told what the upstream said',
  ),
  planned('AM-2', 'a write is approved, sent once, and read back', 'B'),
  planned('AM-3', 'a write is denied, or its approval expires: nothing is sent', 'B'),
  built(
    'AM-4',
    'an unattended write with its grant, and refused without',
    'tests/clients/agent-behaviour.ts › a write acts once within its limits, and outside them is refused with the field',
    'tests/clients/agent-behaviour.ts › a write that needs a person is refused and sends nothing',
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
  planned(
    'AM-7',
    'a cut connection after dispatch is unknown, never sent again, resolved by a person',
    'B',
  ),
  planned('AM-8', 'OAuth refresh with rotation during a session', 'C'),
  planned('AM-9', 'a credential revoked during a session, then connected again', 'C'),
  planned('AM-10', 'a broken OAuth grant, and another account', 'C'),
  planned('AM-11', 'guest isolation: no direct way, no secret, no tool that was not bound', 'D'),
  planned('AM-12', 'closed until verified; a call in flight survives a restart; a clean end', 'D'),
]
