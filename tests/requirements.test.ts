import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { built, notApplicable, planned, type Requirement } from './requirements/requirement.ts'
import { requirements } from './requirements.ts'

const repository = fileURLToPath(new URL('..', import.meta.url))

const numbered = (prefix: string, last: number) =>
  Array.from({ length: last }, (_, index) => `${prefix}${index + 1}`)

/** The ids of the checklists; a requirement cannot be dropped by deleting its line. */
const expectedIds = [
  ...numbered('ET-', 110),
  ...numbered('AM-', 12),
  ...numbered('GD-', 113),
  ...numbered('BYO-', 62),
  ...numbered('CS-P', 11),
  ...numbered('CS-L', 5),
  ...numbered('CS-C', 8),
  ...numbered('CS-T', 9),
  ...numbered('CS-R', 12),
  ...numbered('CS-X', 7),
  ...['CS-S1', 'CS-S2', 'CS-S3t', 'CS-S4t', 'CS-S5t'],
  ...numbered('SM-', 18),
  ...numbered('RF-', 15),
]

function findProblems(root: string, list: readonly Requirement[]): string[] {
  const ids = list.map(({ id }) => id)
  return [
    ...ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `${id}: given twice`),
    ...list.filter(({ text }) => text.trim() === '').map(({ id }) => `${id}: says nothing`),
    ...list.flatMap((one) => problemsOf(root, one).map((problem) => `${one.id}: ${problem}`)),
  ]
}

function problemsOf(root: string, one: Requirement): string[] {
  if (one.status === 'not_applicable') return one.why.trim() === '' ? ['no reason is given'] : []
  if (one.status === 'planned') return []
  if (one.tests.length === 0) return ['no test is named']
  return one.tests.flatMap((named) => {
    const [path = '', title = ''] = named.split(' › ')
    if (!path.endsWith('.ts') || !existsSync(join(root, path))) return [`no such file: ${path}`]
    return hasTest(readFileSync(join(root, path), 'utf8'), title) ? [] : [`no such test: ${named}`]
  })
}

/** The title as a string literal, with quotes escaped as the formatter does. */
function hasTest(source: string, title: string): boolean {
  const quoted = [`'${title}'`, `"${title}"`, `\`${title}\``, `'${title.replaceAll("'", "\\'")}'`]
  return title !== '' && quoted.some((literal) => source.includes(literal))
}

test('every id of the checklists has exactly one line', () => {
  expect(requirements.map(({ id }) => id).toSorted()).toEqual(expectedIds.toSorted())
})

test('every requirement names tests that exist, an issue, or a reason', () => {
  expect(findProblems(repository, requirements)).toEqual([])
  const count = (of: (one: Requirement) => boolean) => requirements.filter(of).length
  const planned = (issue: string) => count((one) => one.status === 'planned' && one.issue === issue)
  const waiting = ['A', 'B', 'C', 'D', 'later'].map((issue) => `${issue} ${planned(issue)}`)
  process.stdout.write(
    `requirements: ${requirements.length} in all, ${count(({ status }) => status === 'built')} built, ` +
      `${count(({ status }) => status === 'planned')} planned (${waiting.join(', ')}), ` +
      `${count(({ status }) => status === 'not_applicable')} not applicable\n`,
  )
})

test('finds what it is there to find', () => {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-requirements-'))
  try {
    writeFileSync(join(root, 'a.test.ts'), `test('holds', () => {})\ntest("it's so", () => {})`)
    const fine = [
      built('X-1', 'text', 'a.test.ts › holds', "a.test.ts › it's so"),
      planned('X-2', 'text', 'B'),
      notApplicable('X-3', 'text', 'because'),
    ]
    expect(findProblems(root, fine)).toEqual([])
    const broken = [
      built('X-1', 'text', 'a.test.ts › does not hold'),
      built('X-2', 'text', 'b.test.ts › holds'),
      built('X-3', 'text'),
      built('X-4', 'text', 'a.test.ts'),
      notApplicable('X-5', 'text', ' '),
      planned('X-6', '', 'B'),
      planned('X-6', 'text', 'B'),
    ]
    expect(findProblems(root, broken)).toEqual([
      'X-6: given twice',
      'X-6: says nothing',
      'X-1: no such test: a.test.ts › does not hold',
      'X-2: no such file: b.test.ts',
      'X-3: no test is named',
      'X-4: no such test: a.test.ts',
      'X-5: no reason is given',
    ])
  } finally {
    rmSync(root, { recursive: true })
  }
})
