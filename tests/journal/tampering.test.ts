/** What somebody who may write the database cannot do unseen. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type RunningPostgres, startPostgres } from '../postgres/start-postgres.ts'
import { type Database, postgresDatabase, sqliteDatabase } from './databases.ts'
import { Recorder } from './journal-world.ts'

let postgres: RunningPostgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

const engines = {
  sqlite: sqliteDatabase,
  postgres: () => postgresDatabase(postgres),
}

describe.each(['sqlite', 'postgres'] as const)('on %s', (engine) => {
  let database: Database
  let recorder: Recorder
  let stream: string

  /** A stream of four pages, 1–3, 4–8, 9–13 and 14–16, under three checkpoints; the last three calls are not settled. */
  beforeEach(async () => {
    database = await engines[engine]()
    recorder = await new Recorder(database.store).begin()
    const first = await recorder.pass(3)
    await recorder.checkpoints.write()
    const second = await recorder.pass(2, first)
    const third = await recorder.pass(3, second)
    await recorder.checkpoints.write()
    await recorder.pass(0, third)
    await recorder.pass(3)
    await recorder.checkpoints.write()
    const [row] = await database.query('SELECT stream FROM journal_pages LIMIT 1')
    stream = String(row?.['stream'])
  })
  afterEach(() => database.close())

  const findings = async () => (await recorder.verify()).findings
  const page = (first: number) => `stream = '${stream}' AND first = ${first}`
  const anExecution = "id = (SELECT min(id) FROM executions WHERE state = 'succeeded')"
  const anOpenOne = "id = (SELECT min(id) FROM executions WHERE state = 'dispatching')"

  test('nothing is found when nothing was done', async () => {
    expect(await recorder.verify()).toMatchObject({
      findings: [],
      checked: { streams: 1, pages: 5, events: 19, executions: 11, checkpoints: 3, rows: 11 },
      notYetCovered: 0,
    })
  })

  test.each([
    ['an event', 4, `text = replace(text, '"kind":"succeeded"', '"kind":"not_sent"')`],
    ['a digest', 4, `text = replace(text, 'sha256:cc', 'sha256:ca')`],
    ['the whole text', 9, `text = 'nothing'`],
    ['a hash', 9, `hash = 'sha256:${'0'.repeat(64)}'`],
    ['where it ends', 9, 'last = last - 1'],
  ])('a row whose %s was changed', async (_, first, change) => {
    await database.query(`UPDATE journal_pages SET ${change} WHERE ${page(first)}`)
    expect(await findings()).toContainEqual({ kind: 'page_changed', stream, sequence: first })
  })

  test('a row that was removed', async () => {
    await database.query(`DELETE FROM journal_pages WHERE ${page(4)}`)
    expect(await findings()).toContainEqual({ kind: 'page_missing', stream, sequence: 4 })
  })

  test('rows that changed places', async () => {
    const move = (from: number, to: number) =>
      database.query(`UPDATE journal_pages SET first = ${to} WHERE ${page(from)}`)
    const columns = 'first, last, hash, text'
    const [one] = await database.query(`SELECT ${columns} FROM journal_pages WHERE ${page(4)}`)
    const [other] = await database.query(`SELECT ${columns} FROM journal_pages WHERE ${page(9)}`)
    const put = (row: typeof one, at: number) =>
      database.query(
        `UPDATE journal_pages SET last = ${row?.['last']}, hash = '${row?.['hash']}', text = '${row?.['text']}' WHERE ${page(at)}`,
      )
    await put(other, 4)
    await put(one, 9)
    await move(4, 1_000)
    await move(9, 4)
    await move(1_000, 9)
    expect(await findings()).toContainEqual({ kind: 'page_out_of_order', stream, sequence: 4 })
  })

  test('a tail that was cut off, by the checkpoint that knows it', async () => {
    await database.query(`DELETE FROM journal_pages WHERE stream = '${stream}' AND first > 13`)
    expect(await findings()).toContainEqual({
      kind: 'tail_missing',
      stream,
      sequence: 14,
      checkpoint: 3,
    })
  })

  test('a stream that was cut out', async () => {
    await database.query(`DELETE FROM journal_pages WHERE stream = '${stream}'`)
    expect(await findings()).toContainEqual({
      kind: 'stream_missing',
      stream,
      sequence: 1,
      checkpoint: 1,
    })
  })

  test.each([
    ['signature', `jws = replace(jws, substr(jws, length(jws) - 20, 5), 'AAAAA')`],
    ['time', 'at = at - 1'],
    ['position', 'position = position - 1'],
  ])('a checkpoint whose %s was changed', async (_, change) => {
    await database.query(`UPDATE journal_checkpoints SET ${change} WHERE sequence = 2`)
    expect(await findings()).toContainEqual({ kind: 'checkpoint_changed', checkpoint: 2 })
  })

  test('a checkpoint that was removed, also the newest: the gateway remembers it', async () => {
    await database.query('DELETE FROM journal_checkpoints WHERE sequence = 3')
    expect(await findings()).toContainEqual({ kind: 'checkpoint_missing', checkpoint: 3 })
    await recorder.pass(1)
    await expect(recorder.checkpoints.write()).rejects.toMatchObject({ code: 'journal_damaged' })
    await database.query('DELETE FROM journal_checkpoints WHERE sequence = 1')
    expect(await findings()).toContainEqual({ kind: 'checkpoint_missing', checkpoint: 1 })
  })

  test('a key that was put in the place of another', async () => {
    const x = 'A'.repeat(43)
    await database.query(`UPDATE journal_keys SET jwk = '{"kty":"OKP","crv":"Ed25519","x":"${x}"}'`)
    expect(await findings()).toContainEqual({ kind: 'key_changed', kid: expect.any(String) })
  })

  test('events that somebody else appended, once they are old enough to be known to a checkpoint', async () => {
    const forger = new Recorder(database.rival, { clock: () => Date.now() - 700_000 })
    await forger.pass(1)
    const [row] = await database.query(
      `SELECT stream FROM journal_pages WHERE stream <> '${stream}'`,
    )
    await database.query(`UPDATE journal_streams SET ended_at = 1 WHERE id <> '${stream}'`)
    expect(await findings()).toEqual([
      { kind: 'not_covered', stream: row?.['stream'], sequence: 1 },
    ])
  })

  test.each([
    ['state', "state = 'tool_error'", anExecution],
    ['state', "state = 'lost'", anOpenOne],
    ['resultDigest', `result_digest = 'sha256:${'0'.repeat(64)}'`, anExecution],
    ['argumentsDigest', `arguments_digest = 'sha256:${'0'.repeat(64)}'`, anOpenOne],
    ['ownerId', "owner_id = 'usr_other'", anExecution],
    ['tool', "tool = 'another'", anExecution],
    ['code', "code = 'upstream_error'", anExecution],
    ['gatewayInstance', "gateway_instance = 'ins_other'", anOpenOne],
    ['sequence', 'sequence = 1', anExecution],
    ['sequence', 'sequence = 7', anExecution],
    ['sequence', 'sequence = 7', anOpenOne],
    ['sequence', 'sequence = 0', anOpenOne],
  ])('the %s of an execution: %s where %s', async (field, change, which) => {
    await database.query(`UPDATE executions SET ${change} WHERE ${which}`)
    expect(await findings()).toMatchObject([{ kind: 'row_differs', stream, field }])
  })

  test('an execution whose row is gone', async () => {
    const [row] = await database.query(`SELECT id FROM executions WHERE ${anExecution}`)
    await database.query(`DELETE FROM executions WHERE ${anExecution}`)
    expect(await findings()).toMatchObject([{ kind: 'row_missing', execution: row?.['id'] }])
  })
})
