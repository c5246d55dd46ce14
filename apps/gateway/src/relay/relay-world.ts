/** A relay folder before a scripted core, and a guest that writes into it what it likes: for the tests of this folder. */
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CallOutcome, CallRequest } from '@sallyport/core'
import { release } from '@sallyport/protocol'
import { type AnswerRecord, type RequestRecord, recordVersion } from '@sallyport/protocol/shim'
import { boundTool, result, type Script, startScripted } from '../mcp/scripted-core.ts'
import { eventually, rpc } from '../mcp/scripted-guest.ts'
import { InnerDoor } from './inner-door.ts'
import { LocalFiles } from './local-files.ts'
import { Relay, type RelayOptions } from './relay.ts'
import type { RelayFiles } from './relay-files.ts'

export const newId = (): string => randomBytes(16).toString('hex')
export const shim = newId()

export interface WorldOptions {
  readonly script?: Script
  readonly relay?: Partial<RelayOptions>
  /** Between the reader and the folder. */
  readonly files?: (local: LocalFiles) => RelayFiles
}

export type World = Awaited<ReturnType<typeof startWorld>>

/** What becomes of answers is in `log`; the clock of reader and endpoint is stepped. */
export async function startWorld({ script = {}, relay = {}, files }: WorldOptions = {}) {
  const log: string[] = []
  const answer = (call: CallRequest): CallOutcome => {
    const tell = (what: string) => () => void log.push(`${call.callId} ${what}`)
    const delivery = { collected: tell('collected'), lost: tell('lost') }
    return { ...result({ content: [{ type: 'text', text: 'done' }] }), delivery } as CallOutcome
  }
  const tools = [boundTool({ name: 'write', access: 'write' })]
  const at = await startScripted({
    tools,
    answer,
    ...script,
    options: { release, ...script.options },
  })
  const { clock } = at
  const outside = mkdtempSync(join(tmpdir(), 'sallyport-relay-'))
  const folder = join(outside, 'relay')
  const local = await LocalFiles.create(folder)
  const reports: unknown[] = []
  const gone: string[] = []
  const self = () => ({ v: recordVersion, release, gateway: 'g1', at: clock.now, waitMs: 60_000 })
  const reader = new Relay({
    files: files ? files(local) : local,
    door: new InnerDoor(at.endpoint.handleOf('ses_1' as never)),
    self,
    now: () => clock.now,
    report: (error) => void reports.push(error),
    gone: () => void gone.push('gone'),
    wake: { safetyMs: 50 },
    ...relay,
  })
  await reader.start()
  return {
    at,
    clock,
    calls: at.calls,
    log,
    reports,
    gone,
    outside,
    folder,
    reader,
    names: () => readdirSync(folder).filter((name) => name !== 'sallyport.json'),
    record: (message: string, more: Partial<RequestRecord> = {}) =>
      recordOf(message, clock.now, more),
    /** Under its name at once, as a shim writes. */
    publish: (name: string, text: string) => publish(folder, name, text),
    ask: (message: string, more: Partial<RequestRecord> = {}) => {
      const id = newId()
      publish(folder, `${id}.req.json`, JSON.stringify(recordOf(message, clock.now, more)))
      return id
    },
    answer: (id: string) => answerTo(folder, id),
    has: (name: string) => existsSync(join(folder, name)),
    remove: (name: string) => rmSync(join(folder, name)),
    end: async () => {
      await reader.stop()
      await at.close()
      rmSync(outside, { recursive: true, force: true })
    },
  }
}

export const call = rpc('tools/call', { name: 'files__write' }, 7)
export const ping = rpc('ping', {}, 1)

function recordOf(message: string, at: number, more: Partial<RequestRecord>): RequestRecord {
  const own = { v: recordVersion, release, shim, call: newId(), at }
  return { ...own, method: 'POST', path: '/mcp', headers: {}, message, ...more }
}

function publish(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, `.${name}.part`), text)
  renameSync(join(folder, `.${name}.part`), join(folder, name))
}

/** The last record of an answer, once it is there. It stays there. */
async function answerTo(folder: string, id: string): Promise<AnswerRecord> {
  const path = join(folder, `${id}.res.json`)
  await eventually(() => existsSync(path))
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** Its only message. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into it
export function messageOf({ messages }: AnswerRecord): any {
  return JSON.parse(messages[0] as string)
}
