import type { ErrorCode } from '@sallyport/protocol'
import { release } from '@sallyport/protocol'
import { type Hello, isHeadOf, wireVersion } from '@sallyport/protocol/node'

const clockSkewMs = 5_000

/** Why a peer that said this hello cannot be worked with, or undefined. `now`: milliseconds since 1970, on arrival. */
export function judgeHello(hello: Hello, now: number): ErrorCode | undefined {
  if (hello.refused === 'clock_skew') return 'clock_skew'
  if (hello.refused !== undefined) return 'wrong_release'
  if (hello.wire !== wireVersion || hello.release !== release) return 'wrong_release'
  if (hello.role !== 'worker' || !isHeadOf('hello', hello)) return 'wrong_release'
  if (!(Math.abs(now - hello.now) <= clockSkewMs)) return 'clock_skew'
  return undefined
}
