/** One run of one command: what its code may use, and how its outcome is printed. */
import { type Answer, type IdSource, idSource, type RouteName } from '@sallyport/protocol'
import { type CallLimits, type CallOf, callRoute, type Gateway } from './api-client.ts'
import type { Failure } from './failure.ts'
import { findGateway } from './find-gateway.ts'
import type { GuestExit } from './guest-exit.ts'
import { readLine } from './line.ts'
import { asciiJson } from './print/ascii-json.ts'
import { withProgress } from './print/progress.ts'
import { type Style, styleFor } from './print/style.ts'
import { secretReader } from './secret-file.ts'
import type { World } from './world.ts'

/**
 * `json` is the API's answer, undefined when the command printed what there is; `text` is for people. A `failure` is told
 * after what was printed.
 */
export interface Outcome {
  readonly json: unknown
  readonly text: string
  readonly failure?: Failure | GuestExit | undefined
}

export interface Run {
  readonly world: World
  readonly style: Style
  readonly newId: IdSource
  /** After a failure address and token are looked for anew: `up` may have been started again. */
  call<N extends RouteName>(name: N, call: CallOf<N>, limits?: CallLimits): Promise<Answer<N>>
  gateway(): Promise<Gateway>
  /** Shows `text` on stderr while `work` goes on. */
  during<T>(text: string | (() => string), work: Promise<T>): Promise<T>
  /** The secret in a file, or on stdin for `-` (once a run). Throws `file_unreadable`, `bad_secret`, `usage`. */
  readSecret(path: string, field: string): Promise<string>
  /** Undefined when there is nobody to ask. */
  ask(question: string): Promise<boolean | undefined>
}

export type Handler<A extends unknown[]> = (run: Run, ...args: A) => Promise<Outcome>

/** Makes an action of commander: its arguments, then its options, then the command itself, which handlers do not need. */
export function perform<A extends unknown[]>(
  world: World,
  handler: Handler<A>,
): (...args: unknown[]) => Promise<void> {
  return async (...args) => {
    const { json } = args.at(-2) as { json?: true }
    const run = openRun(world, json === true)
    const outcome = await handler(run, ...(args.slice(0, -1) as A))
    const output = json && outcome.json !== undefined ? asciiJson(outcome.json) : outcome.text
    if (output !== '') world.stdout.write(`${output}\n`)
    if (outcome.failure) throw outcome.failure
  }
}

function openRun(world: World, json: boolean): Run {
  let found: Promise<Gateway> | undefined
  const gateway = (): Promise<Gateway> => {
    found ??= findGateway(world.env)
    return found
  }
  const quiet = json && world.stderr.isTTY !== true
  return {
    world,
    style: styleFor(world),
    newId: idSource(world.now, world.random),
    gateway,
    call: async (name, call, limits) => {
      try {
        return await callRoute(await gateway(), name, call, limits)
      } catch (thrown) {
        found = undefined
        throw thrown
      }
    },
    during: (text, work) => withProgress(world.stderr, quiet, text, work),
    readSecret: secretReader(world),
    ask: (question) => ask(world, question),
  }
}

async function ask(world: World, question: string): Promise<boolean | undefined> {
  if (world.stdin.isTTY !== true || world.stderr.isTTY !== true) return undefined
  const line = await readLine(world, {
    question: `${question} [y/N] `,
    over: new AbortController().signal,
    interrupted: () => world.signals.raise('SIGINT'),
  })
  return /^y(?:es)?$/i.test((line ?? '').trim())
}
