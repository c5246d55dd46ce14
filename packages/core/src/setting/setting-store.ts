/** Operator settings and the pause, by name. Values are JSON. */
export interface Setting {
  readonly name: string
  readonly value: unknown
  readonly by: string
  readonly at: number
}

export interface SettingReads {
  get(name: string): Promise<Setting | undefined>
  list(): Promise<Setting[]>
}

export interface SettingWrites extends SettingReads {
  set(setting: Setting): Promise<void>
  /** False when it was not set. */
  unset(name: string): Promise<boolean>
}
