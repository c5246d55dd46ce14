import { createRequire } from 'node:module'
import {
  acpHarnesses,
  agentAdapter,
  allAgentPrograms,
  bubblewrap,
  genericHarness,
  type HarnessAdapter,
  noSandbox,
  type Sandbox,
  type ShimPlace,
} from '@sallyport/launcher'
import type { sandboxClasses } from '@sallyport/protocol'

export type SandboxName = (typeof sandboxClasses)[number]

export const sandboxes: Readonly<Record<SandboxName, () => Sandbox>> = {
  bubblewrap: () => bubblewrap(),
  none: () => noSandbox(),
}

/** By the name that `run` knows them by. */
export const harnesses: ReadonlyMap<string, HarnessAdapter> = new Map(
  [genericHarness, ...allAgentPrograms.map(agentAdapter), ...acpHarnesses].map((harness) => [
    harness.name,
    harness,
  ]),
)

/** The shim of this installation, and the Node that runs this program. */
export function ownShim(): ShimPlace {
  const program = createRequire(import.meta.url).resolve('sallyport-shim/sallyport-shim.mjs')
  return { node: process.execPath, program }
}
