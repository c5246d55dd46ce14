/** What hosts, addresses and ports are, wherever something leaves for one: by the worker's dialer and the launcher's proxy. */
export * from './network/address.ts'
export * from './network/blocked-ports.ts'
export * from './network/host-pattern.ts'
