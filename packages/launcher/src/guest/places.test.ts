import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { inside } from '../harness/guest-shim.ts'
import { guestPlaces } from './places.ts'

test('workspace, home, channel and shim of a guest are apart: none lies in another', () => {
  const { workspace, home, channel } = guestPlaces
  const places = [workspace, home, channel, dirname(inside.program)]
  for (const one of places)
    expect(places.filter((other) => `${other}/`.startsWith(`${one}/`))).toEqual([one])
})
