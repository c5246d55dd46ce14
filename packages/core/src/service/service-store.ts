import type { ServiceId } from '@sallyport/protocol'
import type { Service } from './service.ts'

export interface ServiceReads {
  byName(name: string): Promise<Service | undefined>
  /** By name. */
  list(): Promise<Service[]>
}

export interface ServiceWrites extends ServiceReads {
  /** False when the name is in use. */
  insert(service: Service): Promise<boolean>
  /** As `byName`; until the transaction ends it is not removed. */
  lock(name: string): Promise<Service | undefined>
  /** With its client, unless a connection uses that. False when there is none. */
  remove(id: ServiceId): Promise<boolean>
}
