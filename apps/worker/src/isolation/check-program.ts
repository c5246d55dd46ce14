import { accessSync, constants, readdirSync } from 'node:fs'
import { join } from 'node:path'

const { R_OK, X_OK } = constants

/**
 * Parts of a program are loaded when they are first needed, by whoever the worker is then: root's worker is somebody else.
 * Throws, with what to do, when one of those in the folder that it began in could not be; a bundle is whole there.
 */
export function checkProgram(folder: string): void {
  let path = folder
  try {
    accessSync(folder, R_OK | X_OK)
    for (const name of readdirSync(folder)) {
      if (!/\.m?[jt]s$/.test(name)) continue
      path = join(folder, name)
      accessSync(path, R_OK)
    }
  } catch (cause) {
    const who = `user ${process.geteuid?.()}, who is the worker,`
    const next = `let everybody read the program ("chmod -R a+rX ${folder}"), or move it`
    throw new Error(`${who} may not read ${path}: ${next}`, { cause })
  }
}
