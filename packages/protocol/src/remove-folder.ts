import { chmodSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const tries = 20

/**
 * Removes a folder with all that is in it; whether it is gone. Node gives up, and says nothing, when somebody else removes a
 * file of it at the same moment, as a gateway does with the socket of a session that ends; and it removes nothing from folders
 * that may only be read, as tools that keep packages make them.
 */
export function removeFolder(folder: string): boolean {
  for (let time = 0; time < tries && existsSync(folder); time++) {
    try {
      rmSync(folder, { recursive: true, force: true })
    } catch {
      makeWritable(folder)
    }
  }
  return !existsSync(folder)
}

/** Where a link leads nothing is changed. */
function makeWritable(folder: string): void {
  try {
    chmodSync(folder, 0o700)
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) makeWritable(join(folder, entry.name))
  } catch {
    // Gone, or another user's.
  }
}
