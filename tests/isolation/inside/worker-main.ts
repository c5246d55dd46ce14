/** A worker as it is, which beside its work tries what `attempts.json` in its folder says, at each SIGUSR2. */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Attempt, tryAll } from './attempts.ts'

const socket = process.argv[process.argv.indexOf('--socket') + 1] as string
const inFolder = (name: string) => join(dirname(socket), name)

process.on('SIGUSR2', () => {
  const attempts: Attempt[] = JSON.parse(readFileSync(inFolder('attempts.json'), 'utf8'))
  const found = {
    tried: tryAll(attempts),
    uid: process.getuid?.(),
    environment: Object.keys(process.env),
  }
  writeFileSync(inFolder('tried.json'), JSON.stringify(found))
})

await import(new URL('own-main.ts', import.meta.url).href)
