/** What keys do to the view. */
import type { Key, KeyName } from './keys.ts'
import {
  type Decision,
  type Effect,
  mayDecide,
  only,
  type State,
  type Step,
  withOpened,
} from './state.ts'

/** As the API takes it. */
const longestNote = 2000

export function pressed(state: State, key: Key): Step {
  const always = key.kind === 'named' ? effectOf(key.name) : undefined
  if (always) return { state, effects: [always] }
  if (!state.opened) return inList(state, key)
  return state.opened.prompt ? inPrompt(state, key) : inDetails(state, key)
}

function effectOf(name: KeyName): Effect | undefined {
  return name === 'interrupt' || name === 'suspend' || name === 'redraw'
    ? { kind: name }
    : undefined
}

/** One name for keys that do the same. What is pasted is no command. */
function commandOf(key: Key): string {
  if (key.kind === 'named') return key.name
  if (key.kind === 'pasted') return ''
  return synonyms[key.text] ?? key.text
}

const synonyms: Readonly<Record<string, string>> = {
  k: 'up',
  j: 'down',
  g: 'home',
  G: 'end',
  ' ': 'space',
}

function inList(state: State, key: Key): Step {
  const command = commandOf(key)
  switch (command) {
    case 'q':
      return { state, effects: [{ kind: 'quit' }] }
    case 'enter':
    case 'space':
      return open(state)
    case 'a':
      return ask(state, 'approve')
    case 'd':
      return ask(state, 'deny')
    default:
      return only(moveSelection(state, distance(command, pageOf(state))))
  }
}

function inDetails(state: State, key: Key): Step {
  const command = commandOf(key)
  switch (command) {
    case 'q':
      return { state, effects: [{ kind: 'quit' }] }
    case 'escape':
    case 'backspace':
      return only({ ...state, opened: undefined })
    case 'r':
      return only(withOpened(state, { isRaw: !state.opened?.isRaw, scroll: 0 }))
    case 'a':
      return ask(state, 'approve')
    case 'd':
      return ask(state, 'deny')
    default:
      return only(scroll(state, command === 'space' ? 'pageDown' : command))
  }
}

function inPrompt(state: State, key: Key): Step {
  const { id, detail, prompt } = state.opened ?? {}
  if (!prompt || id === undefined || prompt.isSent) return only(state)
  if (key.kind !== 'named') return only(writeNote(state, prompt.note + oneLine(key.text)))
  switch (key.name) {
    case 'escape':
      return only(withOpened(state, { prompt: undefined }))
    case 'backspace':
      return only(writeNote(state, [...prompt.note].slice(0, -1).join('')))
    case 'eraseLine':
      return only(writeNote(state, ''))
    case 'eraseWord':
      return only(writeNote(state, prompt.note.replace(/\S*\s*$/, '')))
    case 'enter':
      return detail ? send(state, id) : only(bad(state, 'Wait until it is shown.'))
    default:
      return only(scroll(state, key.name))
  }
}

const oneLine = (text: string): string => text.replace(/\p{Cc}+/gu, ' ')

function writeNote(state: State, note: string): State {
  const prompt = state.opened?.prompt
  if (!prompt || note.length > longestNote) return bad(state, 'A note is no longer than this.')
  return withOpened(state, { prompt: { ...prompt, note } })
}

function send(state: State, id: string): Step {
  const prompt = state.opened?.prompt
  if (!prompt) return only(state)
  const { decision, note } = prompt
  return {
    state: withOpened(state, { prompt: { ...prompt, isSent: true } }),
    effects: [{ kind: 'decide', id, decision, note: note.trim() }],
  }
}

function open(state: State): Step {
  const { selected: id } = state
  if (id === undefined) return only(state)
  const opened = { id, isRaw: false, scroll: 0, detail: undefined, prompt: undefined }
  return { state: { ...state, opened }, effects: [{ kind: 'show', id }] }
}

/** The question stands below the details: nobody decides about what was not shown. */
function ask(state: State, decision: Decision): Step {
  const id = state.opened?.id ?? state.selected
  const row = state.rows.find(({ approval }) => approval.id === id)
  if (!row) return only(state)
  if (!mayDecide(row.approval, decision)) {
    const isOver = row.overSince !== null || row.approval.state === 'approved'
    return only(
      bad(
        state,
        isOver ? `It is ${row.approval.state} already.` : `You may not ${decision} this one.`,
      ),
    )
  }
  const { state: next, effects } = state.opened ? only(state) : open(state)
  const prompt = { decision, note: '', isSent: false }
  return { state: withOpened(next, { prompt, scroll: undefined }), effects }
}

const bad = (state: State, text: string): State => ({ ...state, notice: { text, isBad: true } })

const pageOf = ({ lines }: State): number => Math.max(1, lines - 5)

function distance(command: string, page: number): number {
  const far = Number.MAX_SAFE_INTEGER
  const all: Readonly<Record<string, number>> = {
    ...{ up: -1, down: 1, pageUp: -page, pageDown: page, home: -far, end: far },
  }
  return all[command] ?? 0
}

function moveSelection(state: State, by: number): State {
  const { rows } = state
  const at = rows.findIndex(({ approval }) => approval.id === state.selected)
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))]
  return next ? { ...state, selected: next.approval.id } : state
}

/** Too far is set right when it is drawn. */
function scroll(state: State, command: string): State {
  const at = state.opened?.scroll ?? 0
  return withOpened(state, { scroll: Math.max(0, at + distance(command, pageOf(state))) })
}
