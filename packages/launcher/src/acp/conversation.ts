/**
 * The client's side of the Agent Client Protocol: one session with an agent program in a sandbox. The program may be killed and
 * started again by its keeper; then the session is loaded, with a new shim, and what was asked is asked again.
 */
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { SallyportError } from '@sallyport/protocol'
import { serverName } from '../harness/mcp-entry.ts'
import { type AskedForm, type FormAnswer, readForm } from './elicitation.ts'
import { isObject, JsonLines, type Params, PeerRefusal, UnknownMethod } from './json-lines.ts'
import { type AskedPermission, permissionAnswer, readPermission } from './permission.ts'
import { type AcpEvent, eventOf } from './update.ts'

/** What a started agent has to be told. Paths are of the guest. */
export interface AcpStart {
  readonly folder: string
  readonly command: string
  readonly args: readonly string[]
  /** How it is told that its key is there. */
  readonly authMethod?: string
  /** In which it asks, instead of asking a model. */
  readonly mode?: string
  /** For `session/new` and `session/load`. */
  readonly meta?: Params
}

/** Whoever the conversation is for. */
export interface AcpOwner {
  /** What the agent says next is read once it has resolved, also that it takes a question back. */
  told(event: AcpEvent): Promise<void>
  /** Once `over` is aborted, nobody waits for what is said. */
  permits(asked: AskedPermission, over: AbortSignal): Promise<boolean>
  /** Whether there is somebody to fill in forms: else the agent is not told that it could ask. */
  readonly takesForms: boolean
  answers(form: AskedForm, over: AbortSignal): Promise<FormAnswer>
}

export interface AcpAgent {
  readonly stdin: Writable
  readonly stdout: Readable
}

/** The keeper's word, inside. The agent could say it too, and would be spoken to as if it had been started again. */
export const restartedMethod = '_sallyport/started_again'
const restartsAtMost = 3
const answersWithinMs = 120_000
/** Of which the agent is reminded in its requests for permission. */
const callsKept = 1_000

class Restarted extends Error {}

export class AcpConversation {
  readonly #lines: JsonLines
  readonly #start: AcpStart
  readonly #owner: AcpOwner
  readonly #calls = new Map<string, Params>()
  #session: string | undefined
  #canLoad = false
  #isLoading = false
  /** Aborted when it is over, or cancelled. */
  #turn = new AbortController()
  #restarts = 0
  /** A turn came to its end in the session. */
  #hasPast = false
  #isNew = true

  constructor(agent: AcpAgent, start: AcpStart, owner: AcpOwner) {
    this.#start = start
    this.#owner = owner
    // Before the first turn there is none either.
    this.#turn.abort()
    this.#lines = new JsonLines(agent.stdout, agent.stdin, {
      request: (method, params, withdrawn) => this.#asked(method, params, withdrawn),
      notification: (method, params) => this.#told(method, params),
      noise: () => owner.told({ kind: 'noise' }),
    })
  }

  /**
   * Resolves with ACP's reason for which the turn ended. Rejects with `agent_broken` when the agent is gone or does not
   * keep to the protocol, and with `agent_refused` when it answers with an error; what it said is told before.
   */
  async prompt(text: string): Promise<string> {
    const turn = new AbortController()
    this.#turn = turn
    try {
      for (let words = text; ; words = again(text)) {
        const stopReason = await this.#turnOf(words, turn.signal)
        if (stopReason !== undefined) return stopReason
        await this.#owner.told({ kind: 'restarted' })
      }
    } finally {
      turn.abort()
    }
  }

  /** Undefined when the agent was killed in it and started again. */
  async #turnOf(words: string, over: AbortSignal): Promise<string | undefined> {
    try {
      await this.#begin()
      if (over.aborted) return 'cancelled'
      const prompt = [{ type: 'text', text: words }]
      const asked = { sessionId: this.#session, prompt }
      const { stopReason } = await this.#ask('session/prompt', asked)
      if (typeof stopReason !== 'string') throw new SallyportError('agent_broken')
      this.#hasPast = true
      return stopReason
    } catch (thrown) {
      if (!(thrown instanceof Restarted)) throw thrown
      return over.aborted ? 'cancelled' : undefined
    }
  }

  /** The turn, if there is one, ends with `cancelled`. */
  cancel(): void {
    this.#turn.abort()
    if (this.#session !== undefined)
      this.#lines.notify('session/cancel', { sessionId: this.#session })
  }

  /** Nothing more is asked; an agent ends then. */
  close(): void {
    this.#lines.close()
  }

  async #begin(): Promise<void> {
    if (!this.#isNew) return
    this.#isNew = false
    const agent = await this.#ask('initialize', {
      protocolVersion: 1,
      clientCapabilities: {
        fs: { readTextFile: false, writeTextFile: false },
        terminal: false,
        ...(this.#owner.takesForms ? { elicitation: { form: {} } } : {}),
      },
      clientInfo: { name: 'sallyport', version: '1' },
    })
    if (agent['protocolVersion'] !== 1) throw new SallyportError('agent_broken')
    const { agentCapabilities } = agent
    this.#canLoad = isObject(agentCapabilities) && agentCapabilities['loadSession'] === true
    const { authMethod: methodId, mode: modeId } = this.#start
    if (methodId !== undefined) await this.#ask('authenticate', { methodId })
    await this.#enter()
    if (modeId !== undefined)
      await this.#ask('session/set_mode', { sessionId: this.#session, modeId })
  }

  async #enter(): Promise<void> {
    const { folder: cwd, command, args, meta } = this.#start
    const mcpServers = [{ name: serverName, command, args, env: [] }]
    const asked = { cwd, mcpServers, ...(meta ? { _meta: meta } : {}) }
    if (this.#session === undefined || !(await this.#load(asked))) {
      const { sessionId } = await this.#ask('session/new', asked)
      if (typeof sessionId !== 'string') throw new SallyportError('agent_broken')
      this.#session = sessionId
    }
  }

  /** False when the agent has not kept its first turn (Gemini CLI): then there is nothing to be lost. */
  async #load(asked: Params): Promise<boolean> {
    if (!this.#canLoad) throw new SallyportError('agent_broken')
    this.#isLoading = true
    try {
      await this.#ask('session/load', { sessionId: this.#session, ...asked })
      return true
    } catch (thrown) {
      const isRefused = thrown instanceof SallyportError && thrown.code === 'agent_refused'
      if (!isRefused || this.#hasPast) throw thrown
      return false
    } finally {
      this.#isLoading = false
    }
  }

  /** A turn takes as long as it takes; everything else has an end. */
  async #ask(method: string, params: Params): Promise<Params> {
    try {
      const answer = this.#lines.request(method, params)
      const result = await (method === 'session/prompt' ? answer : inTime(method, answer))
      return isObject(result) ? result : {}
    } catch (thrown) {
      if (!(thrown instanceof PeerRefusal)) throw thrown
      await this.#owner.told({ kind: 'refusal', text: thrown.said })
      throw new SallyportError('agent_refused', { field: method, cause: thrown })
    }
  }

  async #asked(method: string, params: Params, withdrawn: AbortSignal): Promise<unknown> {
    // Between turns the person is not listening.
    const over = AbortSignal.any([withdrawn, this.#turn.signal])
    if (method === 'session/request_permission') return this.#permission(params, over)
    if (method === 'elicitation/create') return this.#answers(params, over)
    throw new UnknownMethod(method)
  }

  async #permission({ toolCall, options }: Params, over: AbortSignal): Promise<unknown> {
    const asked = readPermission(this.#remembered(toolCall))
    const isAllowed = !over.aborted && (await this.#owner.permits(asked, over))
    return permissionAnswer(over.aborted ? [] : options, isAllowed)
  }

  async #answers(params: Params, over: AbortSignal): Promise<FormAnswer> {
    const form = readForm(params)
    const answer = form && !over.aborted ? await this.#owner.answers(form, over) : undefined
    return answer && !over.aborted ? answer : { action: 'cancel' }
  }

  async #told(method: string, params: Params): Promise<void> {
    if (method === restartedMethod) return this.#startedAgain()
    const { update } = params
    if (method !== 'session/update' || !isObject(update)) return
    this.#remembered(update)
    // The session's past was told when it was.
    const event = this.#isLoading ? undefined : eventOf(update)
    if (event) await this.#owner.told(event)
  }

  #startedAgain(): void {
    this.#isNew = true
    const isEnough = ++this.#restarts > restartsAtMost
    this.#lines.drop(isEnough ? new SallyportError('agent_broken') : new Restarted())
  }

  /** All that was said of a tool's call by now. */
  #remembered(said: unknown): Params {
    if (!isObject(said) || typeof said['toolCallId'] !== 'string') return {}
    const id = said['toolCallId']
    const { title, name, kind, rawInput } = { ...this.#calls.get(id), ...said }
    const all = { title, name, kind, rawInput }
    this.#calls.delete(id)
    this.#calls.set(id, all)
    const [oldest] = this.#calls.keys()
    if (this.#calls.size > callsKept && oldest !== undefined) this.#calls.delete(oldest)
    return all
  }
}

async function inTime(method: string, answer: Promise<unknown>): Promise<unknown> {
  const enough = new AbortController()
  const late = delay(answersWithinMs, undefined, { signal: enough.signal }).then(
    () => Promise.reject(new SallyportError('agent_broken', { field: method })),
    () => undefined,
  )
  try {
    return await Promise.race([answer, late])
  } finally {
    enough.abort()
  }
}

/** For an agent that may or may not know what it was asked. */
const again = (text: string): string =>
  `You were interrupted and started again. Go on with this request where you stopped; what is done is not to be done twice:\n${text}`
