/**
 * The script of the fake model. It travels in the prompt, one directive a line, so that the model keeps no state:
 *   @call server:tool {json}     call a tool the client declared; it must be exactly that tool of exactly that server
 *   @collect server:tool {json}  as @call, and the same again while the answer is that there is none yet
 *   @raw name {json}             emit a call of that literal name, declared or not
 * Which directive is next follows from the results since the newest prompt; after the last comes FINAL with the results as
 * the model received them.
 */
export type Json = Record<string, unknown>

export interface Directive {
  readonly kind: 'call' | 'collect' | 'raw'
  readonly name: string
  readonly args: Json
}

/** Words of Sallyport for a call that waits, and of the clients for one that they gave up. */
export const noAnswerYet = /call again with exactly the same arguments|timed out|fetch failed/i
const repeatLimit = 30

/** What a client told the model, in the order it was said. */
export type Turn = { readonly prompt: string } | { readonly result: unknown }

/** A tool the client offers. `deferred`: it has to be asked for by the client's own search tool first. */
export interface Declared {
  readonly name: string
  readonly namespace?: string
  readonly deferred?: boolean
}

export type Decision =
  | { readonly kind: 'say'; readonly text: string }
  | { readonly kind: 'call'; readonly tool: Declared; readonly args: Json }
  | { readonly kind: 'missing'; readonly name: string; readonly text: string }

/** One nameless server-sent event. */
export type Chunk = Json | '[DONE]'

/** One JSON body, or a list of server-sent events: each named by its `type`, or all nameless. */
export interface Answer {
  readonly status: number
  readonly json?: unknown
  readonly events?: readonly (Json & { readonly type: string })[]
  readonly chunks?: readonly Chunk[]
  readonly decision?: Decision
}

function parseScript(prompt: string): Directive[] {
  const lines = prompt.matchAll(/^[ \t]*@(call|collect|raw)[ \t]+(\S+)[ \t]*(\{.*\})?[ \t]*$/gm)
  return [...lines].map(([, kind, name, args]) => ({
    kind: kind as Directive['kind'],
    name: name as string,
    args: args ? (JSON.parse(args) as Json) : {},
  }))
}

export function decide(turns: readonly Turn[], declared: readonly Declared[]): Decision {
  const { steps, results } = progressOf(turns)
  const step = steps[stepsDone(steps, results)]
  if (!step) return { kind: 'say', text: `FINAL ${JSON.stringify(results)}` }
  // Clients also ask for titles and summaries; such a request offers no tools and must not start the script.
  if (declared.length === 0) return { kind: 'say', text: 'nothing to add' }
  if (step.kind === 'raw') return { kind: 'call', tool: { name: step.name }, args: step.args }
  const tool = declared.find((one) => isTool(one, step.name))
  if (tool) return { kind: 'call', tool, args: step.args }
  const names = declared.map((one) => (one.namespace ? `${one.namespace}.${one.name}` : one.name))
  return {
    kind: 'missing',
    name: step.name,
    text: `NOT DECLARED ${step.name}; declared: ${names.join(' ')}`,
  }
}

function progressOf(turns: readonly Turn[]): { steps: Directive[]; results: unknown[] } {
  let steps: Directive[] = []
  let results: unknown[] = []
  for (const turn of turns) {
    if ('result' in turn) results.push(turn.result)
    else {
      const script = parseScript(turn.prompt)
      if (script.length > 0) [steps, results] = [script, []]
    }
  }
  return { steps, results }
}

function stepsDone(steps: readonly Directive[], results: readonly unknown[]): number {
  let done = 0
  let repeats = 0
  for (const result of results) {
    const isOpen = steps[done]?.kind === 'collect' && noAnswerYet.test(JSON.stringify(result))
    if (isOpen && repeats < repeatLimit) repeats++
    else {
      done++
      repeats = 0
    }
  }
  return done
}

/** `server:tool` as the clients spell it: one flat name, or a namespace and a name. */
function isTool(declared: Declared, wanted: string): boolean {
  const [server, tool] = wanted.split(':')
  if (declared.namespace !== undefined)
    return declared.namespace === `mcp__${server}` && declared.name === tool
  const spellings = [`mcp__${server}__${tool}`, `mcp_${server}_${tool}`, `${server}_${tool}`]
  return spellings.includes(declared.name)
}
