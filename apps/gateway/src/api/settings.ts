import {
  isSettingName,
  pauseCalls,
  resumeCalls,
  type Setting,
  type SettingName,
  setSetting,
  settingNames,
  settingRules,
  unsetSetting,
} from '@sallyport/core'
import type { Answer } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import type { HandlersOf } from './handlers.ts'
import { showStatus } from './operation.ts'

export function settingHandlers(deps: ApiDeps): HandlersOf<'setting' | 'pause'> {
  const changed = async (name: SettingName): Promise<Answer<'setting.set'>> => {
    await deps.settings.refresh()
    return viewSetting(name, await deps.store.settings.get(name))
  }
  return {
    'setting.list': async () => {
      const stored = await deps.store.settings.list()
      const set = new Map(stored.filter(({ name }) => isSettingName(name)).map((s) => [s.name, s]))
      return { items: settingNames.map((name) => viewSetting(name, set.get(name))) }
    },
    'setting.set': async ({ actor, params, body }) =>
      changed(await setSetting(deps, actor, params.name, body.value)),
    'setting.unset': async ({ actor, params }) =>
      changed(await unsetSetting(deps, actor, params.name)),
    'pause.set': async ({ actor, body }) => {
      await pauseCalls(deps, actor, { writesOnly: body.writes, note: body.note })
      return showStatus(deps)
    },
    'pause.clear': async ({ actor }) => {
      await resumeCalls(deps, actor)
      return showStatus(deps)
    },
  }
}

function viewSetting(name: SettingName, stored: Setting | undefined): Answer<'setting.set'> {
  const rule = settingRules[name]
  return {
    id: name,
    state: stored ? 'set' : 'default',
    value: (stored?.value ?? rule.default) as Answer<'setting.set'>['value'],
    default: rule.default,
    unit: rule.unit,
    bounds: `${rule.min} to ${rule.max}`,
    who: rule.who,
    description: rule.description,
  }
}
