/** Pieces that several answers share. */
import { z } from 'zod'

export const id = (prefix: string) =>
  z.string().regex(new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`))
export const time = z.iso.datetime().describe('RFC 3339, UTC')
export const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/)
export const json = z.json()
/** No name of a tool is longer than 128 characters. */
export const toolPattern = z.string().max(300)
export const list = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item) })
