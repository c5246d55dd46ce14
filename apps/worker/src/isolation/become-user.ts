/** Where root starts a worker, it is root for the first moments only: before a key is read, and before anybody connects. */

export interface UserToBe {
  readonly uid: number
  readonly gid: number
}

/** Throws when the system does not let it, or did something else: then nothing may go on. */
export function becomeUser({ uid, gid }: UserToBe): void {
  const { setgroups, setgid, setuid, geteuid, getegid } = process
  if (!setgroups || !setgid || !setuid) throw new TypeError('this system has no users to become')
  setgroups([])
  setgid(gid)
  setuid(uid)
  if (geteuid?.() !== uid || getegid?.() !== gid) throw new Error(`not user ${uid} after all`)
}
