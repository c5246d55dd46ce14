/**
 * Gateway, worker and upstream killed at named steps of calls, and at any moment: every write at most once, its row, its
 * approval and the journal as they must be. `SALLYPORT_TEST_SEED` repeats a run.
 */
import { expect, test } from 'vitest'
import { startPostgres } from '../postgres/start-postgres.ts'
import { type Random, randomFrom, seededRandom } from '../system/random.ts'
import { startCrashWorld } from './crash-world.ts'
import { expectLawful, type Played, playSchedule, summaryOf } from './schedule.ts'
import { type Engine, type Kill, momentKills, shuffled, stepKills } from './steps.ts'

const isThorough = process.env['SALLYPORT_TEST_ALL'] === '1'
const { seed } = seededRandom()
/** A lane has a world of its own; what a kill breaks late is found at its end. */
const laneKills = 26
const killMs = 20_000
const hitsAtLeast = 0.7
const laneMs = 240_000

interface Run {
  readonly engine: Engine
  readonly kills: readonly Kill[]
  readonly trialsAtLeast: number
}

/**
 * A kill of each step and phase by itself, then with others, then at any moment; on Postgres, where leases make everything
 * slower, some of them; and a few where time is short.
 */
function runOf(engine: Engine, random: Random): Run {
  const own = shuffled(stepKills(engine, 'own'), random)
  if (engine === 'postgres') {
    const kills = [...own.slice(0, isThorough ? 64 : 4), ...momentKills(isThorough ? 8 : 1, random)]
    return { engine, kills, trialsAtLeast: isThorough ? 500 : 25 }
  }
  const kills: Kill[] = [
    ...own,
    ...shuffled(stepKills(engine, random), random).slice(0, 60),
    ...momentKills(30, random),
  ]
  if (isThorough) return { engine, kills, trialsAtLeast: 2_000 }
  return { engine, kills: shuffled(kills, random).slice(0, 18), trialsAtLeast: 200 }
}

async function play({ engine, kills, trialsAtLeast }: Run, random: Random): Promise<void> {
  const played: Played[] = []
  try {
    for (let from = 0; from < kills.length; from += laneKills) {
      const lane = await playLane(engine, kills.slice(from, from + laneKills), random)
      played.push(lane)
      expectLawful(lane, seed)
    }
  } finally {
    console.info(`seed ${seed}, ${engine}: ${summaryOf(played)}`)
  }
  expect(played.reduce((sum, { trials }) => sum + trials, 0)).toBeGreaterThanOrEqual(trialsAtLeast)
  // Were the steps not met any more, it would only be a search by chance.
  const done = played.flatMap((one) => one.done)
  expect(done.filter(({ isHit }) => isHit).length).toBeGreaterThan(done.length * hitsAtLeast)
}

async function playLane(engine: Engine, kills: readonly Kill[], random: Random): Promise<Played> {
  const isEmbedded = engine === 'sqlite'
  const postgres = isEmbedded ? undefined : await startPostgres()
  try {
    const options = postgres ? { postgres: { url: postgres.url, gateways: 2 } } : {}
    const world = await startCrashWorld(options)
    const own = randomFrom(random.below(2 ** 31))
    try {
      return await playSchedule(world, kills, { random: own, isEmbedded, settleMs: 60_000 })
    } finally {
      await world.remove()
    }
  } finally {
    await postgres?.stop()
  }
}

const boundOf = ({ kills }: Run): number => laneMs + kills.length * killMs

const sqlite = randomFrom(seed)
const onSqlite = runOf('sqlite', sqlite)
test(
  `killed at ${onSqlite.kills.length} steps and moments on SQLite (seed ${seed})`,
  {
    timeout: boundOf(onSqlite),
  },
  () => play(onSqlite, sqlite),
)

const postgres = randomFrom(seed)
const onPostgres = runOf('postgres', postgres)
test(
  `killed at ${onPostgres.kills.length} steps and moments on Postgres, with two gateways (seed ${seed})`,
  {
    timeout: boundOf(onPostgres),
  },
  () => play(onPostgres, postgres),
)
