/** Tables of what is offered for connections, and of what was told about them, by the rows of core. */
import type { Service, ToldCondition } from '@sallyport/core'
import { connectionConditions, serviceMethods } from '@sallyport/protocol'
import { errorCode, integer, list, oneOf, orNull, text } from './column.ts'
import { table } from './table.ts'

export const services = table<Service>('services', {
  id: text(),
  name: text(),
  resource: text(),
  method: oneOf(serviceMethods),
  scopeWanted: list(),
  clientId: orNull(text()),
  createdBy: text(),
  createdAt: integer(),
})

export const toldConditions = table<ToldCondition>('told_conditions', {
  connectionId: text(),
  condition: oneOf(connectionConditions),
  code: orNull(errorCode()),
  since: integer(),
})
