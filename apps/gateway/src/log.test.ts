import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLog } from './log.ts'

test('what cannot be written, once or again, ends nothing', () => {
  const log = openLog('/dev/full')
  for (let time = 0; time < 3; time++) expect(() => log.error({ time }, 'lost')).not.toThrow()
})

test('warnings are written, and what is asked for besides', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-log-'))
  try {
    const file = join(folder, 'log')
    openLog(file).info('not asked for')
    openLog(file).warn('a warning')
    openLog(file, 'info').info('asked for')
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['a warning', 'asked for'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
