import type { Group } from './group.ts'
import { ipv4 } from './ipv4.ts'
import { ipv6 } from './ipv6.ts'
import { names } from './names.ts'

export const corpus: readonly Group[] = [...ipv4, ...ipv6, ...names]
