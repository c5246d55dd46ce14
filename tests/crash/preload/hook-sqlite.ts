/** The statements, commits and flushes of the embedded database, seen from below the product. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import sqlite, { type StatementSync } from 'node:sqlite'
import type { StepBook } from './step-book.ts'
import { namedFor, TransactionSteps } from './transaction-steps.ts'

type Statement = (this: StatementSync, ...params: unknown[]) => unknown
type FlushDone = (error: NodeJS.ErrnoException | null) => void

export function hookSqlite(book: StepBook): void {
  const committed = new Set<string>()
  hookStatements(book, committed)
  hookFlush(book, committed)
}

/** `committed`: what was committed and not flushed yet. */
function hookStatements(book: StepBook, committed: Set<string>): void {
  const { prepare } = sqlite.DatabaseSync.prototype
  const steps = new WeakMap<StatementSync, TransactionSteps>()
  const ofDatabase = new WeakMap<object, TransactionSteps>()
  sqlite.DatabaseSync.prototype.prepare = function (...args) {
    const statement = prepare.apply(this, args)
    const own = ofDatabase.get(this) ?? new TransactionSteps(book)
    ofDatabase.set(this, own)
    steps.set(statement, own)
    return statement
  }
  const wrap = (original: Statement): Statement =>
    function (...params) {
      const own = steps.get(this)
      const names = own?.names(this.sourceSQL, params)
      if (!own || !names) return original.apply(this, params)
      own.atOnceBefore(names)
      const result = original.apply(this, params)
      own.after(names)
      if (/^\s*COMMIT/.test(this.sourceSQL)) for (const one of own.end()) committed.add(one)
      return result
    }
  const { prototype } = sqlite.StatementSync
  prototype.run = wrap(prototype.run as Statement) as typeof prototype.run
  prototype.all = wrap(prototype.all as Statement) as typeof prototype.all
}

function hookFlush(book: StepBook, committed: Set<string>): void {
  const { fdatasync } = fs
  const flush = async (fd: number, done: FlushDone): Promise<void> => {
    const names = namedFor('flush', [...committed])
    committed.clear()
    await book.wait(names, 'before')
    fdatasync(fd, (error) => {
      book.reach(names, 'after')
      done(error)
    })
  }
  fs.fdatasync = ((fd: number, done: FlushDone) => void flush(fd, done)) as typeof fs.fdatasync
  syncBuiltinESMExports()
}
