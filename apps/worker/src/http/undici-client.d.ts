/** One module of undici: its index loads ten times as much and is not needed beside calls. */
declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici'
}
