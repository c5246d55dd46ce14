import { expect, test } from 'vitest'
import type { Run } from '../run.ts'
import { UnseenTools } from './unseen-tools.ts'

interface Told {
  readonly isTTY?: boolean
  /** What the gateway answers, in this order: which tools are shown; undefined when it is away. */
  readonly answers: readonly (Readonly<Record<string, boolean>> | undefined)[]
  /** Called when a minute is over. */
  readonly waited?: () => void
}

/** The minute is over as soon as it begins. */
function watch({ isTTY = false, answers, waited = () => {} }: Told) {
  const said: string[] = []
  const left = [...answers]
  const run = {
    world: {
      stderr: { isTTY, write: (text: string) => said.push(text) },
      delay: async () => waited(),
    },
    call: async () => {
      const shown = left.shift()
      if (!shown) throw new Error('away')
      return { tools: Object.entries(shown).map(([name, is]) => ({ name, shown: is })) }
    },
  } as unknown as Run
  return { said, tools: new UnseenTools(run) }
}

const missed = (names: string) => `The agent program has not asked to see: ${names}.\n`
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('names what was not asked for, a while after the start, and at the end what is other by then', async () => {
  const answers = [
    { a: false, b: false },
    { a: true, b: false },
  ]
  const { tools, said } = watch({ answers })
  tools.begin('ses_1')
  await settled()
  expect(said).toEqual([missed('a, b')])
  expect(await tools.end('ses_1')).toEqual(['b'])
  expect(said).toEqual([missed('a, b'), missed('b')])
})

test('says nothing twice, and nothing when all was asked for', async () => {
  const same = watch({ answers: [{ a: false }, { a: false }] })
  same.tools.begin('ses_1')
  await settled()
  await same.tools.end('ses_1')
  expect(same.said).toEqual([missed('a')])
  const all = watch({ answers: [{ a: true }, { a: true }] })
  all.tools.begin('ses_1')
  await settled()
  expect([await all.tools.end('ses_1'), all.said]).toEqual([[], []])
})

test('leaves a terminal to the guest until it has ended; what is missing is counted until nothing is', async () => {
  const counts: (number | undefined)[] = []
  const answers = [{ a: false, b: false }, undefined, { a: true, b: false }, { a: true, b: true }]
  const { tools, said } = watch({
    ...{ isTTY: true, answers: [...answers, { a: false }] },
    waited: () => counts.push(tools.count()),
  })
  tools.begin('ses_1')
  await settled()
  expect([said, counts]).toEqual([[], [undefined, 2, 2, 1]])
  expect(tools.count()).toBe(0)
  await tools.end('ses_1')
  expect([said, tools.count()]).toEqual([[missed('a')], undefined])
})

test('names ten and counts the others', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `t${index}`)
  const { tools, said } = watch({ answers: [Object.fromEntries(names.map((one) => [one, false]))] })
  await tools.end('ses_1')
  expect(said).toEqual([missed(`${names.slice(0, 10).join(', ')}, and 2 more`)])
})

test('a gateway that is away changes nothing about the end', async () => {
  const { tools, said } = watch({ answers: [] })
  expect([await tools.end('ses_1'), said]).toEqual([undefined, []])
})
