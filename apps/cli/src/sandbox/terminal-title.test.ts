import { expect, test } from 'vitest'
import type { Run } from '../run.ts'
import { TerminalTitle } from './terminal-title.ts'

interface Told {
  readonly isTTY?: boolean
  readonly TERM?: string
  /** How many wait, each time it is asked; undefined when the gateway is away. Then it is over. */
  readonly counts: readonly (number | undefined)[]
  /** How many tools were not asked for, each time. */
  readonly unseen?: readonly (number | undefined)[]
}

async function watch({ isTTY = true, TERM = 'xterm', counts, unseen = [] }: Told) {
  const missing = [...unseen]
  const said: string[] = []
  const asked: unknown[] = []
  const left = [...counts]
  let over = (): void => {}
  const isOver = new Promise<void>((resolve) => {
    over = resolve
  })
  const run = {
    world: {
      env: { TERM },
      stderr: { isTTY, write: (text: string) => said.push(text) },
      // Once there is nothing more to be asked it waits until it is ended.
      delay: async (_ms: number, until: AbortSignal) => {
        if (left.length > 0) return
        over()
        await new Promise((resolve) => until.addEventListener('abort', resolve))
      },
    },
    call: async (route: string, { query }: { query: unknown }) => {
      asked.push([route, query])
      const count = left.shift()
      if (count === undefined) throw new Error('away')
      return { items: Array.from({ length: count }) }
    },
  } as unknown as Run
  const title = new TerminalTitle(run, { unseen: () => missing.shift() })
  title.begin('ses_1')
  if (isTTY && TERM !== 'dumb') await isOver
  await title.end()
  return { said, asked }
}

const keep = '\x1b[22;2t'
const putBack = '\x1b[23;2t'
const one = '\x1b]2;Sallyport: 1 approval waits\x07'

test('says how many approvals of the session wait, each time anew, and puts the title back', async () => {
  const { said, asked } = await watch({ counts: [0, 1, 1, 2, 0, 1] })
  const two = '\x1b]2;Sallyport: 2 approvals wait\x07'
  expect(said).toEqual([`${keep}${one}`, one, two, putBack, `${keep}${one}`, putBack])
  expect(asked[0]).toEqual(['approval.list', { session: 'ses_1', state: 'pending' }])
})

test('nothing is said when nothing ever waited', async () => {
  expect((await watch({ counts: [0, 0] })).said).toEqual([])
})

test('a gateway that is away changes nothing', async () => {
  const { said } = await watch({ counts: [1, undefined, 1] })
  expect(said).toEqual([`${keep}${one}`, one, one, putBack])
})

test('tools that were not asked for are named beside what waits, as long as it is so', async () => {
  const { said } = await watch({ counts: [0, 0, 1, 0], unseen: [undefined, 2, 1, 0] })
  const [two, both] = ['2 tools not asked for', '1 approval waits, 1 tool not asked for']
  expect(said).toEqual([
    `${keep}\x1b]2;Sallyport: ${two}\x07`,
    `\x1b]2;Sallyport: ${both}\x07`,
    putBack,
  ])
})

test.each([{ isTTY: false }, { TERM: 'dumb' }])(
  'without a terminal that has a title nobody is asked: %j',
  async (where) => {
    expect(await watch({ ...where, counts: [1] })).toEqual({ said: [], asked: [] })
  },
)
