# Renders the picture that greenscreen.sh shows behind the person: trees in autumn, out of focus
#
# SPDX-License-Identifier: LGPL-2.1-or-later
"""For Blender 3.4. Trees on a meadow, as a lens records them that is focused on a
person in front:

    blender -b -P garden.py -- FILE.jpg

One unit of length is 1 m. The camera looks along +y.
"""
import math
import pathlib
import sys

import bpy
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from scene import material  # noqa: E402

LEAVES, TREES = 260, 16
DULL = 0.8, 0.5  # roughness and specular


def meadow(random):
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=160, y_subdivisions=160, size=240)
    ground = bpy.context.object
    for vertex in ground.data.vertices:
        x, y = vertex.co[:2]
        vertex.co.z = 0.0009 * max(y - 10, 0) ** 2 + 0.03 * random.normal()
    for face in ground.data.polygons:
        face.use_smooth = True
    ground.data.materials.append(material("grass", (0.36, 0.24, 0.07), *DULL))


def tree(random, place, height, shades):
    """A trunk, and clusters of leaves around the end of it"""
    x, y = place
    bpy.ops.mesh.primitive_cylinder_add(vertices=8, radius=0.05 * height, depth=height,
                                        location=(x, y, height / 2))
    bpy.context.object.data.materials.append(shades[0])
    leaf = bpy.data.meshes.new("leaf")
    size = 0.05 * height
    leaf.from_pydata([(-size, 0, 0), (0, -size / 2, size), (size, 0, 0), (0, size / 2, -size)], [],
                     [(0, 1, 2, 3)])
    leaf.materials.append(shades[1 + random.integers(len(shades) - 1)])
    for _ in range(LEAVES):
        away = random.normal(size=3) * (0.2 * height, 0.2 * height, 0.16 * height)
        made = bpy.data.objects.new("leaf", leaf)
        made.location = (x + away[0], y + away[1], 0.95 * height + away[2])
        made.rotation_euler = random.uniform(0, 6.3, 3)
        bpy.context.scene.collection.objects.link(made)


def sky():
    world = bpy.data.worlds.new("sky")
    world.use_nodes = True
    nodes = world.node_tree.nodes
    texture = nodes.new("ShaderNodeTexSky")
    texture.sun_elevation, texture.sun_rotation = math.radians(20), math.radians(30)
    texture.sun_intensity = 0.3
    world.node_tree.links.new(texture.outputs[0], nodes["Background"].inputs[0])
    nodes["Background"].inputs[1].default_value = 0.13
    bpy.context.scene.world = world


def camera():
    view = bpy.data.cameras.new("camera")
    view.lens, view.sensor_width = 50, 36
    view.dof.use_dof, view.dof.focus_distance, view.dof.aperture_fstop = True, 1.4, 1.4
    made = bpy.data.objects.new("camera", view)
    made.location, made.rotation_euler = (0, -6, 1.7), (math.radians(92), 0, 0)
    bpy.context.scene.collection.objects.link(made)
    bpy.context.scene.camera = made


def main():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    random = np.random.default_rng(4)
    meadow(random)
    shades = [material("bark", (0.08, 0.05, 0.03), *DULL)] + [
        material("leaves", color, *DULL) for color in ((0.45, 0.2, 0.03), (0.35, 0.25, 0.04),
                                                (0.42, 0.09, 0.03), (0.2, 0.18, 0.05))]
    for n in range(TREES):
        y = 8 + 2.2 * n
        side = -1 if n % 2 else 1
        tree(random, (side * random.uniform(0.12, 0.42) * (y + 6), y), random.uniform(3, 5.5), shades)
    sky()
    camera()
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.samples, scene.cycles.seed = 256, 1
    scene.cycles.use_denoising, scene.cycles.max_bounces = False, 4
    scene.render.resolution_x, scene.render.resolution_y = 640, 360
    scene.view_settings.view_transform = "Filmic"
    scene.view_settings.look = "Medium High Contrast"
    scene.render.image_settings.file_format, scene.render.image_settings.quality = "JPEG", 90
    scene.render.filepath = sys.argv[sys.argv.index("--") + 1]
    bpy.ops.render.render(write_still=True)


main()
