import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { verifyFile } from '../../apps/cli/src/audit/verify-journal.ts'
import { type RunningPostgres, startPostgres } from '../postgres/start-postgres.ts'
import { type Database, postgresDatabase, sqliteDatabase } from './databases.ts'
import { Recorder } from './journal-world.ts'

let folder: string
let postgres: RunningPostgres
let database: Database
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-export-'))
  postgres = await startPostgres()
})
afterAll(async () => {
  await postgres.stop()
  rmSync(folder, { recursive: true })
})
afterEach(() => database.close())

const databaseOf = (engine: 'sqlite' | 'postgres'): Promise<Database> =>
  engine === 'sqlite' ? sqliteDatabase() : postgresDatabase(postgres)

function verifyLines(lines: readonly string[], end = '\n') {
  const file = join(folder, 'journal.ndjson')
  writeFileSync(file, lines.map((line) => `${line}${end}`).join(''))
  return verifyFile(file)
}

const minute = 60_000

describe.each(['sqlite', 'postgres'] as const)('an export of %s', (engine) => {
  let recorder: Recorder
  let now: number

  /** Two pages and a checkpoint every five minutes, for an hour. */
  beforeEach(async () => {
    database = await databaseOf(engine)
    now = Date.now() - 61 * minute
    recorder = await new Recorder(database.store, { clock: () => now }).begin()
    let open = await recorder.pass(3)
    for (let i = 0; i < 12; i++) {
      open = await recorder.pass(2, open)
      await recorder.checkpoints.write()
      now += 5 * minute
    }
    await recorder.pass(1, open)
  })

  test('verifies by itself, wherever it is, and also with the line ends of another system', async () => {
    const lines = await recorder.auditor.export()
    const whole = { from: null, findings: [], checked: { pages: 14, checkpoints: 13, rows: 0 } }
    expect(await verifyLines(lines)).toMatchObject(whole)
    expect(await verifyLines(lines, '\r\n')).toMatchObject(whole)
  })

  test('is found changed, shortened, reordered or cut off', async () => {
    const lines = await recorder.auditor.export()
    const kinds = async (changed: readonly string[]) =>
      (await verifyLines(changed)).findings.map(({ kind }) => kind)
    const pages = lines.flatMap((line, at) => (line.includes('"page":') ? [at] : []))
    const [, second = 0, third = 0] = pages
    const last = pages.at(-1) as number
    const swapped = [...lines]
    swapped[second] = lines[third] as string
    swapped[third] = lines[second] as string
    const changed = lines.map((line, at) =>
      at === second ? line.replace('"tool"', '"Tool"') : line,
    )
    expect(await kinds(changed)).toContain('page_changed')
    expect(await kinds(lines.toSpliced(second, 1))).toContain('page_missing')
    expect(await kinds(swapped)).toContain('page_out_of_order')
    expect(await kinds(lines.toSpliced(last, 1))).toContain('tail_missing')
    expect(await kinds(lines.slice(0, last))).toContain('cut_off')
    expect(await kinds(lines)).toEqual([])
  })

  test('from a time on begins with the checkpoint before it, and is smaller', async () => {
    const since = new Date(now - 12 * minute).toISOString()
    const lines = await recorder.auditor.export({ since })
    const report = await verifyLines(lines)
    expect(report).toMatchObject({ from: { checkpoint: 10 }, findings: [] })
    expect(report.checked).toMatchObject({ checkpoints: 4 })
    expect(report.checked.pages).toBeLessThan(8)
    const last = lines.findLastIndex((line) => line.includes('"page":'))
    expect((await verifyLines(lines.toSpliced(last, 1))).findings).toMatchObject([
      { kind: 'tail_missing' },
    ])
  })

  test('from a time before everything is the whole', async () => {
    const lines = await recorder.auditor.export({ since: '2020-01-01T00:00:00Z' })
    expect(await verifyLines(lines)).toMatchObject({ from: null, checked: { pages: 14 } })
  })

  test('does not forget a page that its base did not cover yet', async () => {
    // Appended before the newest checkpoint of then, by a gateway that had not written its own.
    now -= 8 * minute
    const slow = await new Recorder(database.store, { seed: 2, clock: () => now }).begin()
    const open = await slow.pass(1)
    now += minute
    await recorder.pass(1)
    await recorder.checkpoints.write()
    const since = new Date(now).toISOString()
    now += minute
    await slow.pass(0, open)
    await slow.checkpoints.write()
    expect(await verifyLines(await recorder.auditor.export({ since }))).toMatchObject({
      findings: [],
    })
  })

  test('is handed out in parts of a few mebibytes at most', async () => {
    for (let i = 0; i < 30; i++) await recorder.pass(250)
    const first = await recorder.auditor.part({})
    expect(first.next).not.toBeNull()
    expect(first.resume).toBeNull()
    expect(first.lines.join('\n').length).toBeLessThan(3 * 1024 * 1024)
    expect(await verifyLines(await recorder.auditor.export())).toMatchObject({ findings: [] })
  })
})

describe('while it is read', () => {
  /** Records in turns of the event loop until it is told to stop. */
  async function busy(recorders: readonly Recorder[]) {
    let isStopped = false
    // Two groups at a time, as a gateway has.
    const lanes = [...recorders, ...recorders].map(async (recorder) => {
      return [recorder, await recorder.pass(2)] as const
    })
    const running = (await Promise.all(lanes)).map(async ([recorder, first]) => {
      for (let open = first; !isStopped; ) open = await recorder.pass(2, open)
    })
    return async () => {
      isStopped = true
      await Promise.all(running)
    }
  }

  test.each(['sqlite', 'postgres'] as const)('the journal may grow: %s', async (engine) => {
    database = await databaseOf(engine)
    const { store, rival } = database
    const recorders = await Promise.all([
      new Recorder(store).begin(),
      new Recorder(rival, { seed: 2 }).begin(),
    ])
    const stop = await busy(recorders)
    let events = 0
    for (let round = 0; round < 12; round++) {
      const [recorder] = round % 2 ? recorders.toReversed() : recorders
      const report = await (recorder as Recorder).verify()
      expect(report.findings).toEqual([])
      expect(report.checked.events).toBeGreaterThanOrEqual(events)
      events = report.checked.events
      expect(await verifyLines(await (recorder as Recorder).auditor.export())).toMatchObject({
        findings: [],
      })
    }
    await stop()
    expect(events).toBeGreaterThan(8)
    for (const { reported } of recorders) expect(reported).toEqual([])
  })
})
