/** Records as files. Every file is whole when it has its name: written beside it, then renamed. */
import {
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  watch,
  writeFileSync,
} from 'node:fs'
import {
  type AnswerRecord,
  gatewayFile,
  recordLimit,
  recordVersion,
} from '@sallyport/protocol/shim'
import { parsed } from './incoming.ts'
import { nothing } from './link.ts'
import { tooLarge } from './own-answers.ts'
import type { Carrier, CarrierEvents } from './record-link.ts'

const pauses = { watched: 1_000, first: 25, longest: 400 }

export function folderCarrier(folder: string, random: () => string, on: CarrierEvents): Carrier {
  const parts = new Map<string, number>()
  const at = (name: string): string => `${folder}/${name}`
  const record = (name: string) => {
    const found = attempt(() => parsed(readFileSync(at(name), 'utf8')))
    return found?.v === recordVersion ? found : undefined
  }
  const remove = (name: string): boolean => attempt(() => [unlinkSync(at(name))]) !== undefined
  const publish = (name: string, text: string): boolean => {
    const temporary = `.${random()}.tmp`
    const isWritten = attempt(() => {
      writeFileSync(at(temporary), text, { flag: 'wx', mode: 0o600 })
      renameSync(at(temporary), at(name))
      return true
    })
    return isWritten ?? (remove(temporary) && false)
  }
  // Before the first look, so that nothing comes between.
  const isWatched = attempt(() => watch(folder, () => on.changed()).on('error', nothing))
  let pause = pauses.first
  const look = (id: string, names: readonly string[]): void => {
    const isThere = (name: string): AnswerRecord | false => names.includes(name) && record(name)
    const part = parts.get(id) ?? 0
    const name = `${id}.${part}.part.json`
    const told = isThere(name)
    if (told) {
      remove(name)
      parts.set(id, part + 1)
      on.answer(id, told, false)
      look(id, names)
      return
    }
    const answer = isThere(`${id}.res.json`)
    if (!answer) return
    parts.delete(id)
    on.answer(id, answer, true)
  }
  const gateway = () => {
    const found = record(gatewayFile)
    const writtenAt = attempt(() => statSync(at(gatewayFile)).mtimeMs)
    return found && writtenAt && { ...found, aheadMs: found.at - writtenAt }
  }
  if (!gateway()) throw new Error('nobody answers in the folder of --relay')
  return {
    gateway,
    readWithinMs: 10_000,
    pauseMs: () => {
      pause = Math.min(pause * 1.5, pauses.longest)
      return isWatched ? pauses.watched : pause
    },
    put: (id, request) => {
      pause = pauses.first
      const text = JSON.stringify(request)
      if (Buffer.byteLength(text) <= recordLimit) return publish(`${id}.req.json`, text)
      const answer = { v: recordVersion, status: 413, headers: {}, messages: [tooLarge()] }
      setImmediate(() => on.answer(id, answer, true))
      return true
    },
    takeBack: (id) => (remove(`${id}.req.json`) ? 'unread' : 'read'),
    lost: (id) => void publish(`${id}.cancel.json`, JSON.stringify({ v: recordVersion })),
    delivered: (id) => void remove(`${id}.res.json`),
    flush: (then) => then(),
    look: (ids) => {
      const names = attempt(() => readdirSync(folder)) ?? []
      for (const id of ids) look(id, names)
    },
  }
}

/** Undefined for whatever does not work: it is looked at again, or given up in time. */
// biome-ignore lint/suspicious/noExplicitAny: records are looked at where they are used
function attempt(work: () => unknown): any {
  try {
    return work()
  } catch {
    return undefined
  }
}
