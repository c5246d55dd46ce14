import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import * as tables from './tables.ts'

const page = readFileSync(new URL('../../../../docs/storage.md', import.meta.url), 'utf8')

/** What the page says about a table, up to the next one. */
function sectionOf(table: string): string {
  const [, section = ''] = page.split(`\n\`${table}\`: `)
  return section.split(/\n`[a-z_]+`: /)[0] ?? ''
}

test.each(Object.values(tables))('docs/storage.md explains every column of $name', (table) => {
  const words = new Set(sectionOf(table.name).match(/\w+/g))
  expect(table.columns.filter((column) => !words.has(column))).toEqual([])
})

test('docs/storage.md explains no table that does not exist', () => {
  const explained = [...page.matchAll(/\n`([a-z_]+)`: /g)].map(([, name]) => name)
  const known = Object.values(tables).map(({ name }) => name)
  expect(explained.toSorted()).toEqual([...known, 'applied_migrations'].toSorted())
})
