import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { programPlaces } from './program-places.ts'

let base: string
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-places-')))
  packageAt('here/apps/worker', ['one'])
})
afterEach(() => rmSync(base, { recursive: true }))

const at = (path: string) => join(base, path)
const entry = () => at('here/apps/worker/src/main.ts')

function packageAt(path: string, needs: readonly string[] = []): void {
  mkdirSync(at(path), { recursive: true })
  const dependencies = Object.fromEntries(needs.map((name) => [name, '*']))
  writeFileSync(join(at(path), 'package.json'), JSON.stringify({ dependencies }))
}

function link(path: string, to: string): void {
  mkdirSync(dirname(at(path)), { recursive: true })
  symlinkSync(relative(dirname(at(path)), at(to)), at(path))
}

function found(): { folders: string[]; links: string[] } {
  const { folders, links } = programPlaces(entry())
  const within = (path: string) => relative(base, path)
  return {
    folders: folders.map(within).sort(),
    links: links.map(({ path, to }) => `${within(path)} > ${within(to)}`).sort(),
  }
}

test('a bundle is whole in its folder', () => {
  expect(programPlaces('/opt/sallyport/worker.mjs')).toEqual({
    folders: ['/opt/sallyport'],
    links: [],
  })
})

test('packages beside it, and those of the repository that are linked among them, and no others of it', () => {
  packageAt('here/node_modules/one', ['@ours/two'])
  packageAt('here/packages/two')
  packageAt('here/packages/three')
  for (const name of ['two', 'three'])
    link(`here/node_modules/@ours/${name}`, `here/packages/${name}`)
  expect(found()).toEqual({
    folders: ['here/apps/worker', 'here/node_modules', 'here/packages/two'],
    links: [],
  })
})

test('a folder of packages that is a link', () => {
  packageAt('there/node_modules/one', ['@ours/two'])
  packageAt('there/packages/two')
  link('there/node_modules/@ours/two', 'there/packages/two')
  link('here/node_modules', 'there/node_modules')
  expect(found()).toEqual({
    folders: ['here/apps/worker', 'there/node_modules', 'there/packages/two'],
    links: ['here/node_modules > there/node_modules'],
  })
})

test('packages that are links, one by one, over another link', () => {
  packageAt('there/node_modules/one', ['two'])
  packageAt('there/node_modules/two')
  link('middle', 'there')
  link('here/node_modules/one', 'middle/node_modules/one')
  expect(found()).toEqual({
    folders: ['here/apps/worker', 'here/node_modules', 'there/node_modules'],
    links: ['middle > there'],
  })
})

test('packages of a store, each beside what it needs', () => {
  packageAt('store/one@1/node_modules/one', ['two'])
  packageAt('store/two@1/node_modules/two')
  link('store/one@1/node_modules/two', 'store/two@1/node_modules/two')
  link('here/apps/worker/node_modules/one', 'store/one@1/node_modules/one')
  expect(found()).toEqual({
    folders: ['here/apps/worker', 'store/one@1/node_modules', 'store/two@1/node_modules/two'],
    links: [],
  })
})

test('what is named and not installed, a circle of needs, and a broken manifest are passed over', () => {
  packageAt('here/node_modules/one', ['two', 'nowhere'])
  packageAt('here/node_modules/two', ['one'])
  writeFileSync(at('here/node_modules/two/package.json'), '{')
  expect(found()).toEqual({ folders: ['here/apps/worker', 'here/node_modules'], links: [] })
})
