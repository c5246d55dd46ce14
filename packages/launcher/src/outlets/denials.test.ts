import { expect, test } from 'vitest'
import { Denials } from './denials.ts'

const set = (revision: number, ...hosts: string[]) => ({
  revision,
  digest: `sha256:${revision}`,
  entries: hosts.map((host) => ({ host, port: null })),
})
const names: Record<string, string[]> = {
  'upstream.example': ['93.184.216.34', '2606:4700::1'],
  'next.example': ['9.9.9.9'],
}
const denials = (resolve = async (name: string) => names[name] ?? []) =>
  new Denials({ resolve, onGrown: () => undefined })
const at = (host: string, address: string) => ({ host, port: 443, address })

test('nothing is denied before there is a set: the control of all that follows', () => {
  expect(denials().denies(at('upstream.example', '93.184.216.34'))).toBe(false)
})

test('a denied name is denied by name, and by each address behind it', async () => {
  const one = denials()
  await one.replace(set(1, 'upstream.example'))
  expect(one.denies({ host: 'upstream.example', port: 443 })).toBe(true)
  expect(one.denies(at('alias.example', '93.184.216.34'))).toBe(true)
  expect(one.denies(at('2606:4700::1', '2606:4700::1'))).toBe(true)
  expect(one.denies(at('alias.example', '93.184.216.35'))).toBe(false)
})

test('who is spoken to by a certificate is denied by name and address of the set, not by who else is there', async () => {
  const one = denials()
  await one.replace(set(1, 'upstream.example', '9.9.9.9'))
  expect(one.deniesByName(at('model.example', '93.184.216.34'))).toBe(false)
  expect(one.deniesByName(at('upstream.example', '93.184.216.34'))).toBe(true)
  expect(one.deniesByName(at('model.example', '9.9.9.9'))).toBe(true)
})

test('what was denied stays denied when a later set does not name it', async () => {
  const one = denials()
  await one.replace(set(1, 'upstream.example'))
  await one.replace(set(2, 'next.example'))
  expect(one.revision).toBe(2)
  expect(one.denies(at('a.example', '93.184.216.34'))).toBe(true)
  expect(one.denies(at('a.example', '9.9.9.9'))).toBe(true)
})

test('a set is in force by name before anybody is asked, and by address before it can be confirmed', async () => {
  let answer: (addresses: string[]) => void = () => undefined
  const asked = new Promise<string[]>((resolve) => {
    answer = resolve
  })
  const grown: boolean[] = []
  const one = new Denials({
    resolve: () => asked,
    onGrown: () => grown.push(one.denies(at('a.example', '1.1.1.1'))),
  })
  let isInForce = false
  const replaced = one.replace(set(1, 'upstream.example')).then(() => {
    isInForce = true
  })
  expect(one.denies({ host: 'upstream.example', port: 443 })).toBe(true)
  await Promise.resolve()
  expect(isInForce).toBe(false)
  answer(['1.1.1.1'])
  await replaced
  expect(grown).toEqual([false, true])
})

test('a name that nobody can resolve now is denied by name all the same', async () => {
  const one = denials(() => Promise.reject(new Error('no server')))
  await one.replace(set(1, 'upstream.example'))
  expect(one.denies({ host: 'upstream.example', port: 443 })).toBe(true)
})
