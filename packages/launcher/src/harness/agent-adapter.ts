/** Starts an agent program with the shim as its one server, in a home of its own: the user's settings stay where they are. */
import { accessSync, constants, lstatSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SallyportError } from '@sallyport/protocol'
import type { GuestFile } from '../sandbox.ts'
import type { AgentProgram } from './agent-program.ts'
import { findProgram } from './find-program.ts'
import { shimCommand, shimMounts } from './guest-shim.ts'
import type { HarnessAdapter, HarnessRequest, ShimPlace } from './harness-adapter.ts'
import { type HarnessPlaces, harnessPlaces, hasWalls } from './harness-places.ts'
import { refuseSecretsOfWords, refuseSecretsOfWorkspace } from './literal-secrets.ts'
import { type SettingsFile, settingsText } from './mcp-entry.ts'
import { placeProgram, whereItIs } from './place-program.ts'

type StartedProgram = Omit<AgentProgram, 'name'> & { readonly name: string }

export function agentAdapter(agent: StartedProgram): HarnessAdapter {
  return {
    name: agent.name,
    provider: agent.provider,
    prepare: async (asked) => {
      const { isolation, shim, words, model, programPath, environment, workspace } = asked
      const places = harnessPlaces(asked)
      checkShim(shim)
      await refuseSecretsOfWords(words)
      const { workspaceSettings, nested = false } = asked
      const strict = workspaceSettings !== true
      if (!strict) await refuseSecretsOfWorkspace(agent, workspace)
      const { PATH } = environment
      const found = await findProgram(agent, { given: programPath, PATH })
      const placed = hasWalls(asked) ? placeProgram(found) : whereItIs(found, shim)
      const [command = '', ...args] = shimCommand(shim, isolation, places.channel)
      const setUp = agent.setUp({
        delivery: { by: 'shim', command, args },
        strict,
        canNest: nested || !hasWalls(asked),
        model,
        home: places.home,
        workspace: places.workspace,
      })
      const files = await Promise.all(setUp.files.map((file) => guestFile(file, places.home)))
      return {
        command: [...placed.command, ...setUp.arguments, ...words],
        environment: { ...places.environment, ...setUp.environment },
        mounts: [...shimMounts(shim, isolation), ...placed.mounts],
        covered: strict ? coveredOf(agent, asked, places) : [],
        nesting: nested,
        files: () => files,
      }
    },
  }
}

/** Throws `shim_unreadable`: a program without its server would start all the same, and have no tools. */
function checkShim(shim: ShimPlace): void {
  for (const [path, mode] of [
    [shim.program, constants.R_OK],
    [shim.node, constants.X_OK],
  ] as const) {
    try {
      accessSync(path, mode)
    } catch (cause) {
      throw new SallyportError('shim_unreadable', { cause })
    }
  }
}

/**
 * Those that are there. Throws `not_enforceable` for one that is a link or a file, over which no folder can be laid; and for
 * any with settings where there are no walls, since nothing can be laid over them.
 */
function coveredOf(
  agent: StartedProgram,
  asked: HarnessRequest,
  { workspace }: HarnessPlaces,
): readonly string[] {
  if (!hasWalls(asked)) {
    const folders = agent.looksAbove ? withThoseAbove(workspace) : [workspace]
    const all = folders.flatMap((folder) => agent.covered.map((name) => join(folder, name)))
    const field = all.map((path) => settingsAt(path, agent.harmless)).find((found) => found)
    if (field !== undefined) throw new SallyportError('not_enforceable', { field })
    return []
  }
  return agent.covered.flatMap((name) => {
    const found = lstatSync(join(asked.workspace, name), { throwIfNoEntry: false })
    if (!found) return []
    if (!found.isDirectory()) throw new SallyportError('not_enforceable', { field: name })
    return [join(workspace, name)]
  })
}

/** The first that may be a setting: the path itself when it is not a folder that can be looked into; undefined when there is none. */
function settingsAt(path: string, harmless: readonly string[] | undefined): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found) return undefined
  if (!harmless || !found.isDirectory()) return path
  try {
    const name = readdirSync(path).find((name) => !harmless.includes(name))
    return name === undefined ? undefined : join(path, name)
  } catch {
    return path
  }
}

function withThoseAbove(folder: string): string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...withThoseAbove(above)]
}

async function guestFile(file: SettingsFile, home: string): Promise<GuestFile> {
  return { at: `${home}${file.file.slice(1)}`, text: await settingsText(file) }
}
