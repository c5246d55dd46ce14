/**
 * What attackers use in tool definitions, found by a machine so that the reviewer looks there. Flags inform and decide
 * nothing: a clean list of flags is no proof of anything.
 */
import { escapeText } from '@sallyport/protocol'
import type { ListedTool } from '@sallyport/protocol/node'
import type { Flag } from './catalog.ts'

type Flagged = Pick<
  ListedTool,
  'name' | 'title' | 'description' | 'inputSchema' | 'outputSchema' | 'annotations'
>

const textLimit = 200
const flagLimit = 50

export function flagsOf(tool: Flagged, otherNames: readonly string[]): Flag[] {
  const texts = [...textsOf(tool, '')]
  const flags = [
    ...texts.flatMap(({ where, text }) => [
      ...invisible(where, text),
      ...instructions(where, text),
    ]),
    ...texts.flatMap(({ where, text }) => [
      ...secretPaths(where, text),
      ...mentions(where, text, tool, otherNames),
    ]),
    ...imitations(tool.name, otherNames),
    ...secretFields(tool.inputSchema, '/inputSchema'),
  ]
  return flags.slice(0, flagLimit)
}

interface Text {
  readonly where: string
  readonly text: string
}

/** Every string of a definition, also the names of members: all of them reach the model. */
function* textsOf(value: unknown, where: string): Generator<Text> {
  if (typeof value === 'string') yield { where, text: value }
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    if (!Array.isArray(value) && where !== '') yield { where: `${where}/${key}`, text: key }
    yield* textsOf(inner, `${where}/${key}`)
  }
}

const flag = (kind: string, where: string, text: string): Flag => ({
  kind,
  where: escapeText(where).slice(0, textLimit),
  text: escapeText(text).slice(0, textLimit),
})

/** Line ends and tabs are usual in descriptions; everything else that `escapeText` touches is not. */
function invisible(where: string, text: string): Flag[] {
  const plain = text.replace(/[\n\r\t]/g, ' ')
  return escapeText(plain) === plain ? [] : [flag('invisible_text', where, plain)]
}

const orders = [
  /\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|above|prior|earlier|all|other|system)\b/i,
  /\b(?:do not|don't|never|without)\b.{0,20}\b(?:tell|inform|mention|reveal|show|notify|ask)\w*\b.{0,20}\b(?:user|human|person|anyone|them)\b/i,
  /<\/?\s*(?:important|system|instructions?|secret|assistant|hidden|admin)\b/i,
  /\b(?:you must|always|be sure to)\b.{0,40}\b(?:call|use|invoke|run|read|send|include|pass)\b/i,
  /\b(?:before|after|instead of)\b.{0,20}\b(?:using|calling|any other|every other)\b.{0,20}\btools?\b/i,
  /\bsystem prompt\b|\bconversation history\b|\bchain of thought\b/i,
]

function instructions(where: string, text: string): Flag[] {
  return orders.flatMap((pattern) => {
    const found = pattern.exec(text)
    return found ? [flag('instruction_to_model', where, found[0])] : []
  })
}

const paths =
  /(?:~|\/home\/\w+|\/root|\/etc|\$HOME|%USERPROFILE%)[\\/][\w./\\-]+|\.env\b|id_(?:rsa|ed25519)\b/i

function secretPaths(where: string, text: string): Flag[] {
  const found = paths.exec(text)
  return found ? [flag('file_path', where, found[0])] : []
}

/** A description that speaks of other tools may steer how those are used. */
function mentions(
  where: string,
  text: string,
  { name }: Flagged,
  otherNames: readonly string[],
): Flag[] {
  if (!/(?:description|title)$/.test(where)) return []
  return otherNames
    .filter(
      (other) =>
        other !== name && other.length >= 4 && !name.includes(other) && hasWord(text, other),
    )
    .map((other) => flag('mentions_tool', where, other))
}

function hasWord(text: string, word: string): boolean {
  const at = text.indexOf(word)
  return at >= 0 && !/\w/.test(text[at - 1] ?? '') && !/\w/.test(text[at + word.length] ?? '')
}

function imitations(name: string, otherNames: readonly string[]): Flag[] {
  return otherNames
    .filter((other) => other !== name && looksLike(name, other))
    .map((other) => flag('imitates_tool', '/name', other))
}

function looksLike(a: string, b: string): boolean {
  const [x, y] = [skeleton(a), skeleton(b)]
  return x === y || (Math.min(x.length, y.length) >= 5 && isOneEditApart(x, y))
}

/** Letters that look alike are one letter; case, separators and marks do not count. */
function skeleton(name: string): string {
  const folded = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\p{M}\W_]/gu, (char) => twins[char] ?? '')
  return folded
    .replace(/rn/g, 'm')
    .replace(/vv/g, 'w')
    .replace(/[0o]/g, 'o')
    .replace(/[1il|]/g, 'l')
    .replace(/5/g, 's')
}

/** Cyrillic and Greek letters that look like Latin ones. */
const twins: Readonly<Record<string, string>> = {
  а: 'a',
  е: 'e',
  о: 'o',
  р: 'p',
  с: 'c',
  у: 'y',
  х: 'x',
  і: 'i',
  ѕ: 's',
  ԁ: 'd',
  ո: 'n',
  ο: 'o',
  α: 'a',
  ν: 'v',
  ι: 'i',
  κ: 'k',
  τ: 't',
}

function isOneEditApart(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  const [restA, restB] = [a.slice(start), b.slice(start)]
  return restA.slice(1) === restB.slice(1) || restA === restB.slice(1) || restA.slice(1) === restB
}

const secretWords =
  /pass(?:word|phrase|wd)|secret|api[_-]?key|access[_-]?key|private[_-]?key|credential|(?:auth|access|refresh|bearer|session)[_-]?token|^token$/i

function secretFields(schema: unknown, where: string): Flag[] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([key, inner]) => {
    const place = `${where}/${key}`
    const isProperties = key === 'properties' && typeof inner === 'object' && inner !== null
    const names = isProperties ? Object.keys(inner).filter((name) => secretWords.test(name)) : []
    return [
      ...names.map((name) => flag('asks_for_secret', `${place}/${name}`, name)),
      ...secretFields(inner, place),
    ]
  })
}
