/**
 * What attackers use in tool definitions, found by a machine so that the reviewer looks there. Flags inform and decide
 * nothing: a clean list of flags is no proof of anything.
 */
import { escapeText } from '@sallyport/protocol'
import type { ListedTool } from '@sallyport/protocol/node'
import { toPointer } from '../schema/pointer.ts'
import type { Flag } from './catalog.ts'
import { lookAlikes } from './look-alike.ts'

type Flagged = Pick<
  ListedTool,
  'name' | 'title' | 'description' | 'inputSchema' | 'outputSchema' | 'annotations'
>

const textLimit = 200
const flagLimit = 50

/** The flags of a tool, the gravest kinds first. */
export type Flagger = (tool: Flagged) => Flag[]

/** `siblings`: the names of the listing. `foreign`: those of other servers, which this one could speak for or imitate. */
export function flagger(siblings: readonly string[], foreign: readonly string[]): Flagger {
  const alike = lookAlikes(siblings, foreign)
  const strangers = new Set(foreign.filter((name) => isTelling(name) && !siblings.includes(name)))
  return (tool) => {
    const { name, title, description, inputSchema, outputSchema, annotations } = tool
    const whole = { name, title, description, inputSchema, outputSchema, annotations }
    const texts = [...textsOf(whole, [])]
    const flags = [
      ...texts.flatMap(invisible),
      ...texts.flatMap(instruction),
      ...alike.of(name).map((other) => flag('imitates_tool', '/name', other)),
      ...texts.flatMap((text) => mentions(text, strangers)),
      ...texts.flatMap(secretPath),
      ...texts.flatMap(secretField),
    ]
    return flags.slice(0, flagLimit)
  }
}

interface Text {
  readonly steps: readonly string[]
  readonly text: string
  /** A name of a member, not a value. */
  readonly isKey: boolean
}

/** Every string of a definition, also the names of members: all of them reach the model. */
function* textsOf(value: unknown, steps: readonly string[]): Generator<Text> {
  if (typeof value === 'string') yield { steps, text: value, isKey: false }
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    const place = [...steps, key]
    if (!Array.isArray(value) && steps.length > 0) yield { steps: place, text: key, isKey: true }
    yield* textsOf(inner, place)
  }
}

/** As much of a pointer as a flag shows: the names on the way may be long, and the flags many. */
function placeOf(steps: readonly string[]): string {
  let place = ''
  for (const step of steps) {
    if (place.length >= textLimit) break
    place += toPointer([step.slice(0, textLimit)])
  }
  return place
}

function flag(kind: string, where: string, text: string): Flag {
  const shown = (raw: string): string => escapeText(raw.slice(0, textLimit)).slice(0, textLimit)
  return { kind, where: shown(where), text: shown(text) }
}

/** Line ends and tabs are usual in descriptions, and so are emoji; what else `escapeText` touches is not. */
function invisible({ steps, text }: Text): Flag[] {
  const plain = text.replace(/[\n\r\t]/g, ' ').replace(/\p{RGI_Emoji}|\p{Emoji}\ufe0f/gv, '')
  const hidden = [...plain].findIndex((char) => escapeText(char) !== char)
  if (hidden < 0) return []
  return [
    flag('invisible_text', placeOf(steps), [...plain].slice(Math.max(hidden - 20, 0)).join('')),
  ]
}

const orders = [
  /\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|earlier|above|system)\b/i,
  /\b(?:do not|don't|never|without)\b.{0,20}\b(?:tell|telling|inform|informing|mention|mentioning|reveal|revealing|notify|notifying|asking)\b.{0,20}\b(?:user|human|person|anyone|anybody|them)\b/i,
  /<\/?\s*(?:important|system|instructions?|secret|assistant|hidden|admin)\b/i,
  /\b(?:you must|always|be sure to|make sure to)\b.{0,30}\b(?:call|use|invoke|run|send|include|pass) (?:this|the|it)\b.{0,30}\b(?:first|before|instead|tool|every|contents?)\b/i,
  /\b(?:before|instead of|after) (?:using|calling|invoking|running) any (?:other )?tool/i,
  /\bsystem prompt\b|\bconversation history\b/i,
]

function instruction({ steps, text }: Text): Flag[] {
  const found = orders.map((order) => order.exec(text)?.[0]).find((order) => order !== undefined)
  return found === undefined ? [] : [flag('instruction_to_model', placeOf(steps), found)]
}

const paths =
  /(?:~|\/home\/[\w.-]{1,64}|\/root|\/etc|\$HOME|%USERPROFILE%)[\\/][\w./\\-]{1,200}|(?:^|[\s'"`/])\.env\b|\bid_(?:rsa|ed25519)\b/i

function secretPath({ steps, text }: Text): Flag[] {
  const found = paths.exec(text)
  return found ? [flag('file_path', placeOf(steps), found[0])] : []
}

/** A name that is no ordinary word: to speak of it is to speak of the tool. */
function isTelling(name: string): boolean {
  return name.length >= 4 && /.[_.\-/:A-Z0-9]./.test(name)
}

/** A description that speaks of another server's tools may steer how those are used. */
function mentions({ steps, text, isKey }: Text, strangers: ReadonlySet<string>): Flag[] {
  if (isKey || strangers.size === 0) return []
  const words = text.match(/[\p{L}\p{N}_./:-]+/gu) ?? []
  const named = new Set(words.map((word) => word.replace(/[./:-]+$/, '')))
  const found = [...named].filter((word) => strangers.has(word))
  return found.map((word) => flag('mentions_tool', placeOf(steps), word))
}

const secretWords =
  /pass(?:word|phrase|wd)|secret|api[_-]?key|access[_-]?key|private[_-]?key|credential|(?:auth|access|refresh|bearer|session)[_-]?token|^token$/i

function secretField({ steps, text, isKey }: Text): Flag[] {
  const isField = isKey && steps[0] === 'inputSchema' && steps.at(-2) === 'properties'
  return isField && secretWords.test(text) ? [flag('asks_for_secret', placeOf(steps), text)] : []
}
