import { fileURLToPath } from 'node:url'
import type { ShimPlace } from '@sallyport/launcher'

export const shim: ShimPlace = {
  node: process.execPath,
  program: fileURLToPath(new URL('../../apps/shim/sallyport-shim.mjs', import.meta.url)),
}
