#!/usr/bin/env -S node --max-semi-space-size=16
// Goes on under the pinned Node where this one is too old, so it is plain JavaScript that Node 18 can read.
import { spawn } from 'node:child_process'
import * as nodeModule from 'node:module'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const needed = 24
// As above. Left alone, V8's space for young objects grows under load to two thirds of a gateway's memory, and gains nothing.
const memoryFlags = ['--max-semi-space-size=16']
const args = process.argv.slice(2)

if (Number(process.versions.node.split('.')[0]) >= needed) await runHere()
else runUnder(pinnedNode())

async function runHere() {
  // Not Node's default, which is a folder under /tmp that any user of the machine could make first and fill.
  nodeModule.enableCompileCache(join(cacheFolder(), 'sallyport', 'compiled'))
  const isUp = args[0] === 'up'
  const path = isUp ? '../../gateway/src/main.ts' : '../src/main.ts'
  const main = fileURLToPath(new URL(path, import.meta.url))
  process.argv = [process.execPath, main, ...(isUp ? args.slice(1) : args)]
  await import(pathToFileURL(main).href)
}

function cacheFolder() {
  const fromEnvironment = process.env.XDG_CACHE_HOME ?? ''
  return isAbsolute(fromEnvironment) ? fromEnvironment : join(homedir(), '.cache')
}

function pinnedNode() {
  const isWindows = process.platform === 'win32'
  const name = `node-${isWindows ? 'win' : process.platform}-${process.arch}`
  try {
    const { resolve } = nodeModule.createRequire(import.meta.url)
    return resolve(`${name}/bin/node${isWindows ? '.exe' : ''}`)
  } catch {
    return refuse()
  }
}

/** A descriptor that `up` was handed to hand on keeps its number. */
function descriptors() {
  const at = args.findIndex((one) => /^--vault-key-fd(?:=|$)/.test(one))
  const number = Number((args[at] ?? '').split('=')[1] ?? args[at + 1])
  const standard = ['inherit', 'inherit', 'inherit']
  if (args[0] !== 'up' || at < 0 || !(number > 2 && number < 1024)) return [...standard, 'ipc']
  return [...standard, ...Array(number - 3).fill('ignore'), 'inherit', 'ipc']
}

function refuse() {
  process.stderr.write(
    'wrong_node: Node 24 or later is needed. — who can act: operator. Install Node 24, or run "npm ci" with optional packages.\n',
  )
  process.exit(1)
}

/** The ipc channel tells the child that this process is gone, also after kill -9. */
function runUnder(node) {
  const child = spawn(node, [...memoryFlags, fileURLToPath(import.meta.url), ...args], {
    stdio: descriptors(),
  })
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP']
  for (const signal of signals) process.on(signal, () => child.kill(signal))
  child.on('error', refuse)
  child.on('exit', (code, signal) => {
    if (!signal) process.exit(code ?? 1)
    for (const name of signals) process.removeAllListeners(name)
    process.kill(process.pid, signal)
  })
}
