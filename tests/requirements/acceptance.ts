/** AM: the acceptance scenarios, each with Claude Code and with Codex. */
import { planned, type Requirement } from './requirement.ts'

export const acceptance: readonly Requirement[] = [
  planned('AM-1', 'read tool with text and structure; no approval', 'A'),
  planned('AM-2', 'a write is approved, sent once, and read back', 'B'),
  planned('AM-3', 'a write is denied, or its approval expires: nothing is sent', 'B'),
  planned('AM-4', 'an unattended write with its grant, and refused without', 'A'),
  planned('AM-5', 'arguments outside the grant are refused before dispatch with the field', 'A'),
  planned('AM-6', 'errors of a tool and of the protocol are preserved', 'A'),
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
