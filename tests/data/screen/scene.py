# Renders a person before a green screen, with the exact matte
#
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Scene of film.py, for Blender 3.4. Renders each frame before a black and a white screen with the
same random numbers (Smith and Blinn 1996, "Blue screen matting"), and writes:

subject-NNNN.exr  the subject before the black screen: the premultiplied foreground
through-NNNN.exr  the difference of the two: 1 - alpha of each channel
real-NNNN.exr     the subject before the real screen (with --real)
plate-0001.exr    the empty real screen

Only camera rays see the black and the white screen, also through glass and cloth. The real screen
lights the subject in all renders. White is a light group of the render before black, so one render
gives both. All files are in linear light.

    blender -b -P scene.py -- FOLDER [--frames 60] [--seed 1] [--width 640] [--samples 24]
        [--first 1] [--real] [--still]

With --still, the wine is red before it is keyed, and highlights are limited: the picture of the
documents. The film of the figures keeps its wine, which lets the screen through.

Frames that are in FOLDER already are not rendered again. One unit of length is 10 cm. The camera
looks along +y.
"""
import argparse
import math
import os
import pathlib
import sys

import bmesh
import bpy
import numpy as np
from mathutils import Matrix, Vector

RATE = 25
PLATE_SAMPLES = 128
HEAD = Vector((-0.35, 0, 0))
ELBOW = Vector((1.75, -0.2, -2.75))
SKULL = Vector((0, 0.12, 0.35)), Vector((0.78, 0.95, 0.82))
HAIRS, LOCKS, STEPS = 15000, 420, 22
HAIR_RADIUS = 0.0016  # 0.16 mm: thinner strands would need more samples for each pixel


# --- materials ---


def material(name, color, roughness=0.6, specular=0.3):
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    shader = made.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*color, 1)
    shader.inputs["Roughness"].default_value = roughness
    shader.inputs["Specular"].default_value = specular
    return made


def mottled(made, color, other, scale):
    """Mixes two colours by noise, so that skin and cloth are not of one colour."""
    nodes, links = made.node_tree.nodes, made.node_tree.links
    noise, ramp = nodes.new("ShaderNodeTexNoise"), nodes.new("ShaderNodeValToRGB")
    place = nodes.new("ShaderNodeTexCoord")
    noise.inputs["Scale"].default_value = scale
    noise.inputs["Detail"].default_value = 3
    ramp.color_ramp.elements[0].position, ramp.color_ramp.elements[1].position = 0.35, 0.65
    ramp.color_ramp.elements[0].color, ramp.color_ramp.elements[1].color = (*color, 1), (*other, 1)
    links.new(place.outputs["Object"], noise.inputs["Vector"])
    links.new(noise.outputs["Fac"], ramp.inputs["Fac"])
    links.new(ramp.outputs["Color"], nodes["Principled BSDF"].inputs["Base Color"])
    return made


def shader_mix(name, factor, first, second):
    """Returns a material that mixes two shaders, each given as a type and its inputs."""
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    nodes, links = made.node_tree.nodes, made.node_tree.links
    nodes.clear()
    mix, output = nodes.new("ShaderNodeMixShader"), nodes.new("ShaderNodeOutputMaterial")
    for slot, (kind, inputs) in enumerate((first, second), 1):
        shader = nodes.new(kind)
        for key, value in inputs.items():
            shader.inputs[key].default_value = value
        links.new(shader.outputs[0], mix.inputs[slot])
    if isinstance(factor, float):
        mix.inputs[0].default_value = factor
    else:
        # Schlick's formula, since the Fresnel node reflects all light inside a thin wall.
        facing = nodes.new("ShaderNodeLayerWeight")
        power, scaled = nodes.new("ShaderNodeMath"), nodes.new("ShaderNodeMath")
        power.operation, power.inputs[1].default_value = "POWER", 5
        scaled.operation = "MULTIPLY_ADD"
        scaled.inputs[1].default_value, scaled.inputs[2].default_value = 0.96, 0.04
        facing.inputs["Blend"].default_value = 0.5
        links.new(facing.outputs["Facing"], power.inputs[0])
        links.new(power.outputs[0], scaled.inputs[0])
        links.new(scaled.outputs[0], mix.inputs[0])
    links.new(mix.outputs[0], output.inputs[0])
    return made


def glass(name, tint):
    """Thin glass that reflects but does not refract: refraction would show another place of the
    screen, for which the matting equation has no alpha."""
    return shader_mix(name, None, ("ShaderNodeBsdfTransparent", {"Color": (*tint, 1)}),
                      ("ShaderNodeBsdfGlossy", {"Roughness": 0.03}))


def emission(name, color):
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    nodes = made.node_tree.nodes
    nodes.clear()
    light, output = nodes.new("ShaderNodeEmission"), nodes.new("ShaderNodeOutputMaterial")
    light.inputs["Color"].default_value = (*color, 1)
    made.node_tree.links.new(light.outputs[0], output.inputs[0])
    made.cycles.sample_as_light = False
    return made


# --- shapes ---


def add(name, mesh, shade, parent=None):
    made = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(made)
    made.data.materials.append(shade)
    made.parent = parent
    return made


def smooth(mesh):
    mesh.polygons.foreach_set("use_smooth", [True] * len(mesh.polygons))
    return mesh


def ball(center, radii, turn=(0, 0, 0)):
    """Returns the matrix that makes an ellipsoid of a sphere."""
    radii = (radii,) * 3 if isinstance(radii, (int, float)) else radii
    turned = Matrix.Rotation(turn[2], 4, "Z") @ Matrix.Rotation(turn[1], 4, "Y") \
        @ Matrix.Rotation(turn[0], 4, "X")
    return Matrix.Translation(center) @ turned @ Matrix.Diagonal((*radii, 1))


def chain(points, radii, count=10):
    """Returns balls along a line through points, whose radii change from point to point."""
    at = np.linspace(0, len(points) - 1, count)
    index = np.arange(len(points))
    place = [np.interp(at, index, [p[axis] for p in points]) for axis in range(3)]
    return [ball(p, float(r)) for *p, r in zip(*place, np.interp(at, index, radii))]


def mesh_of(balls, keep=None, subdivisions=4):
    shape = bmesh.new()
    for matrix in balls:
        bmesh.ops.create_icosphere(shape, subdivisions=subdivisions, radius=1, matrix=matrix)
    if keep:
        bmesh.ops.delete(shape, geom=[v for v in shape.verts if not keep(v.co)], context="VERTS")
    mesh = bpy.data.meshes.new("balls")
    shape.to_mesh(mesh)
    shape.free()
    return smooth(mesh)


def blend(name, balls, shade, parent, voxel=0.035, rounds=8):
    """Adds the union of balls, with smooth seams."""
    made = add(name, mesh_of(balls), shade, parent)
    remesh = made.modifiers.new("union", "REMESH")
    remesh.mode, remesh.voxel_size, remesh.use_smooth_shade = "VOXEL", voxel, True
    softer = made.modifiers.new("seams", "SMOOTH")
    softer.factor, softer.iterations = 0.5, rounds
    return made


def grid(name, columns, rows, place, shade, parent=None):
    """Adds a surface: place(u, v) gives coordinates for arrays from 0 to 1."""
    u, v = np.meshgrid(np.linspace(0, 1, columns), np.linspace(0, 1, rows))
    vertices = np.stack(place(u, v), -1).reshape(-1, 3)
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    faces = np.stack([first, first + 1, first + columns + 1, first + columns], -1)
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(vertices.tolist(), [], faces.tolist())
    return add(name, smooth(mesh), shade, parent)


def empty(name, place):
    made = bpy.data.objects.new(name, None)
    made.location = place
    bpy.context.scene.collection.objects.link(made)
    return made


def animate(thing, frames, turn):
    """Sets keyframes of the rotation turn(seconds), also beyond the film for motion blur."""
    for frame in range(-1, frames + 3):
        thing.rotation_euler = turn(frame / RATE)
        thing.keyframe_insert("rotation_euler", frame=frame)


# --- the subject ---


def face(head, skin):
    sides = (-1, 1)
    parts = [ball(*SKULL), ball((0, -0.12, -0.35), (0.66, 0.68, 0.72)),
             ball((0, -0.3, -0.6), (0.5, 0.5, 0.52)),
             ball((0, -0.55, -0.94), (0.27, 0.25, 0.2)),
             ball((0, -0.58, -0.66), (0.34, 0.22, 0.24)),
             ball((0, -0.6, 0.5), (0.5, 0.26, 0.34))]
    parts += chain([(0, -0.8, 0.16), (0, -0.94, -0.1), (0, -1.08, -0.3)], [0.11, 0.12, 0.17])
    for side in sides:
        parts += [ball((side * 0.37, -0.48, -0.24), (0.27, 0.26, 0.24)),
                  ball((side * 0.31, -0.7, 0.29), (0.25, 0.13, 0.08), (0, side * 0.15, 0)),
                  ball((side * 0.14, -0.9, -0.33), (0.11, 0.13, 0.095))]
    parts += chain([(0, 0.15, -0.6), (0, 0.2, -2.1)], [0.44, 0.52], 6)
    blend("face", parts, skin, head, 0.03, 16)
    for side in sides:
        blend("ear", [ball((side * 0.8, 0.06, -0.06), (0.07, 0.17, 0.27), (0, side * 0.25, 0)),
                      ball((side * 0.76, 0.02, -0.24), (0.07, 0.1, 0.11))], skin, head, 0.025)
        eye = Vector((side * 0.3, -0.6, 0.07))
        add("eye", mesh_of([ball(eye, 0.175)]), material("eye", (0.8, 0.78, 0.75), 0.15, 0.5), head)
        at = eye + Vector((0.012, -0.15, 0))
        add("iris", mesh_of([ball(at, (0.082, 0.035, 0.082))]),
            material("iris", (0.1, 0.06, 0.03), 0.2, 0.5), head)
        add("pupil", mesh_of([ball(at + Vector((0, -0.025, 0)), (0.04, 0.016, 0.04))]),
            material("pupil", (0.005, 0.005, 0.005), 0.05, 0.6), head)
        lid = mesh_of([ball(eye, (0.215, 0.195, 0.19))],
                      lambda c, e=eye: c.z - e.z > 0.075 or c.z - e.z < -0.1)
        add("lids", lid, skin, head)
        lash = [(eye.x + x, eye.y - math.sqrt(0.2 ** 2 - x * x - 0.005), eye.z + 0.085 - x * x)
                for x in np.linspace(-0.17, 0.17, 9)]
        dark = material("brow", (0.03, 0.017, 0.01), 0.7)
        blend("lash", chain(lash, [0.012] * 9, 24), dark, head, 0.01, 1)
        brow = [(side * x, -0.86 + 0.5 * x * x, 0.34 + 0.07 * math.sin(4 * (x - 0.1)))
                for x in np.linspace(0.12, 0.54, 9)]
        blend("brow", chain(brow, [0.03, 0.04, 0.042, 0.042, 0.04, 0.035, 0.03, 0.025, 0.015], 24),
              dark, head, 0.015, 3)
    lips = material("lips", (0.42, 0.11, 0.09), 0.35, 0.4)
    across = np.linspace(-0.27, 0.27, 13)
    smile = [(x, -0.83 + 1.4 * x * x, -0.62 + 1.1 * x * x) for x in across]
    full = 1 - (across / 0.3) ** 2
    upper = [(x, y, z + 0.035) for x, y, z in smile]
    lower = [(x, y, z - 0.05 * f) for (x, y, z), f in zip(smile, full)]
    blend("upper lip", chain(upper, list(0.015 + 0.035 * full), 30), lips, head, 0.015, 3)
    blend("lower lip", chain(lower, list(0.015 + 0.05 * full), 30), lips, head, 0.015, 3)
    gap = [(x, y - 0.045, z + 0.004) for x, y, z in smile]
    blend("mouth", chain(gap, list(0.006 + 0.009 * full), 40),
          material("mouth", (0.05, 0.01, 0.01)), head, 0.008, 1)


def spectacles(head):
    frame = material("frame", (0.02, 0.015, 0.02), 0.2, 0.5)
    lens = glass("lens", (0.93, 0.95, 0.96))
    turn = np.linspace(0, 2 * math.pi, 40)
    for side in (-1, 1):
        rim = [(side * 0.32 + 0.245 * math.cos(t), -0.93 + 0.25 * abs(0.32 + side * 0
               + side * 0.245 * math.cos(t) * side) ** 3, 0.05 + 0.21 * math.sin(t)) for t in turn]
        blend("rim", chain(rim, [0.018] * 40, 120), frame, head, 0.012, 1)
        blend("temple", chain([(side * 0.56, -0.88, 0.1), (side * 0.83, -0.3, 0.12),
                               (side * 0.84, 0.1, 0.08)], [0.018] * 3, 60), frame, head, 0.012, 1)
        add("lens", mesh_of([ball((side * 0.32, -0.9, 0.05), (0.24, 0.03, 0.205))],
                            lambda c: c.y < -0.895), lens, head)
    blend("bridge", chain([(-0.09, -0.93, 0.09), (0, -0.96, 0.13), (0.09, -0.93, 0.09)],
                          [0.016] * 3, 20), frame, head, 0.012, 1)


def scalp(random, count):
    """Random points of the skull that have hair, and their normals"""
    center, radii = (np.array(v) for v in SKULL)
    normal = random.normal(size=(count * 6, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    x, y, z = (normal * radii).T
    hairline = 0.56 - 0.12 * np.cos(6 * x)
    has_hair = ((y > 0.05) & (z > -0.5)) | ((y > -0.28) & (z > -0.02)) | (z > hairline)
    normal = normal[has_hair][:count]
    return center + normal * radii, normal


def strands(random):
    """Places of curly hair: locks of strands that fall from a side parting"""
    root, normal = scalp(random, HAIRS)
    lock_root, _ = scalp(random, LOCKS)
    nearest = np.concatenate([
        np.argmin(((part[:, None] - lock_root) ** 2).sum(-1), 1)
        for part in np.array_split(root, 30)])
    loose = (random.random(HAIRS) < 0.05) & (root[:, 1] > -0.2)
    length = (1.45 + 0.35 * random.random(LOCKS))[nearest] * (0.75 + 0.3 * random.random(HAIRS))
    phase = (2 * math.pi * random.random(LOCKS))[nearest] + 0.5 * random.normal(size=HAIRS)
    turns = (2.0 + 1.5 * random.random(LOCKS))[nearest] * (1 + 0.1 * random.normal(size=HAIRS))
    turns = np.where(loose, 0.7, 1) * turns
    wide = (0.05 + 0.035 * random.random(LOCKS))[nearest] * np.where(loose, 1.9, 1)
    parted = np.sign(root[:, 0] + 0.22)
    comb = np.stack([parted * 0.7, 0.35 + 0 * parted, 0.1 + 0 * parted], -1)
    front = np.clip(-root[:, 1] + 0.1, 0, 1)[:, None]
    heading = 0.75 * normal + comb * (0.2 + front) + 0.13 * random.normal(size=root.shape)
    heading += loose[:, None] * 0.55 * random.normal(size=root.shape)
    heading /= np.linalg.norm(heading, axis=1)[:, None]
    weight = np.where(loose, 0.16, 0.42) * 13 / (STEPS - 1)
    step = (length / (STEPS - 1))[:, None]
    line, at = [root - 0.04 * normal], root.copy()
    center, radii = (np.array(v) for v in SKULL)
    for _ in range(STEPS - 1):
        heading[:, 2] -= weight
        heading /= np.linalg.norm(heading, axis=1)[:, None]
        at = at + heading * step
        # Hair lies on the skull and on the sides of the face, and does not cover the eyes.
        for middle, size in ((center, radii * 1.07), ((0, 0, -0.4), (0.78, 0.72, 0.95)),
                             ((0.05, -1, -0.2), (0.62, 0.75, 0.98))):
            size = np.array(size)
            away = (at - middle) / size
            distance = np.linalg.norm(away, axis=1)[:, None]
            at = np.where(distance < 1, middle + away / np.maximum(distance, 1e-6) * size, at)
        line.append(at)
    line = np.stack(line, 1)
    share = np.linspace(0, 1, STEPS)
    mean = np.zeros((LOCKS, STEPS, 3))
    np.add.at(mean, nearest, line)
    mean /= np.maximum(np.bincount(nearest, minlength=LOCKS), 1)[:, None, None]
    tight = np.where(loose, 0, 0.75)[:, None] * np.minimum(share * 2.5, 1)
    line += tight[..., None] * (mean[nearest] - line)
    turn = phase[:, None] + 2 * math.pi * turns[:, None] * share
    curl = wide[:, None] * np.minimum(share * 3, 1)
    line[..., 0] += curl * np.cos(turn)
    line[..., 1] += curl * np.sin(turn)
    line[..., 2] += 0.4 * curl * np.sin(turn + 1)
    line += 0.005 * np.cumsum(random.normal(size=line.shape) * (share > 0)[:, None], 1)
    return line


def hair(head, random):
    """Adds each strand as a tube with three sides, which becomes thinner towards its end."""
    line = strands(random)
    ring = np.arange(3) * 2 * math.pi / 3
    thin = HAIR_RADIUS * np.linspace(1.2, 0.5, STEPS)[:, None] * 2
    offset = np.stack([thin * np.cos(ring), thin * np.sin(ring), 0.6 * thin * np.sin(ring + 2)], -1)
    vertices = line[:, :, None, :] + offset
    first = (np.arange(HAIRS)[:, None] * STEPS + np.arange(STEPS - 1)).reshape(-1, 1) * 3
    side, after = np.arange(3), (np.arange(3) + 1) % 3
    faces = np.stack([first + side, first + after, first + 3 + after, first + 3 + side], -1)
    mesh = bpy.data.meshes.new("hair")
    mesh.vertices.add(vertices.size // 3)
    mesh.vertices.foreach_set("co", vertices.ravel())
    mesh.loops.add(faces.size)
    mesh.loops.foreach_set("vertex_index", faces.ravel())
    mesh.polygons.add(faces.size // 4)
    mesh.polygons.foreach_set("loop_start", np.arange(0, faces.size, 4))
    mesh.polygons.foreach_set("loop_total", np.full(faces.size // 4, 4))
    mesh.update(calc_edges=True)
    shade = material("hair", (0.11, 0.045, 0.018), 0.6, 0.12)
    add("hair", smooth(mesh), mottled(shade, (0.09, 0.033, 0.013), (0.26, 0.11, 0.04), 2.5), head)


def body(skin, random):
    torso = empty("torso", HEAD)
    shirt = mottled(material("shirt", (0.05, 0.1, 0.3), 0.85, 0.1),
                    (0.055, 0.10, 0.27), (0.075, 0.14, 0.34), 3)
    parts = [ball((0, 0.25, -3.2), (1.35, 0.62, 1.4)), ball((0, 0.2, -2.5), (1.1, 0.5, 0.6))]
    for side in (-1, 1):
        parts += chain([(side * 0.35, 0.25, -1.85), (side * 1.25, 0.25, -2.2),
                        (side * 1.6, 0.2, -2.6)], [0.3, 0.42, 0.42], 10)
    parts += chain([(-1.6, 0.2, -2.6), (-1.85, 0.1, -3.6)], [0.42, 0.4], 6)
    parts += chain([(1.6, 0.2, -2.6), (2.1, -0.2, -3.1)], [0.42, 0.38], 6)
    blend("shirt", parts, shirt, torso, 0.05, 6)
    collar = [ball((0.5 * math.cos(t), 0.18 + 0.47 * math.sin(t),
                    -1.72 + 0.16 * math.sin(t)), (0.1, 0.1, 0.12)) for t in np.linspace(0, 6.2, 28)]
    blend("collar", collar, shirt, torso, 0.03, 4)
    return shirt


def arm(skin, shirt, frames):
    """Adds a forearm that waves from the elbow, and a hand that lags behind it."""
    elbow = empty("elbow", ELBOW)
    blend("sleeve", chain([(0, 0, -0.2), (0.02, -0.1, 0.75)], [0.4, 0.3], 8)
          + [ball((0.02, -0.1, 0.78), (0.31, 0.31, 0.08))], shirt, elbow, 0.04, 4)
    blend("forearm", chain([(0, -0.1, 0.4), (0.02, -0.12, 1.0), (0.03, -0.15, 1.6)],
                           [0.25, 0.22, 0.16], 12), skin, elbow)
    wrist = empty("wrist", (0.03, -0.15, 1.6))
    wrist.parent = elbow
    parts = chain([(0, 0, -0.05), (0, 0, 0.15)], [0.16, 0.17], 4)
    parts += [ball((0.0, 0, 0.42), (0.34, 0.13, 0.36)),
              ball((0.2, -0.03, 0.25), (0.17, 0.14, 0.24))]
    fingers = ((-0.27, 0.55, -0.5, 0.62), (-0.1, 0.72, -0.16, 0.8), (0.08, 0.74, 0.1, 0.76),
               (0.26, 0.66, 0.34, 0.66))
    for x, z, lean, length in fingers:
        tip = x + lean * 0.5, -0.12, z + length
        middle = x + lean * 0.22, -0.02, z + 0.45 * length
        parts += chain([(x * 0.9, 0, z - 0.15), middle, tip], [0.1, 0.09, 0.072], 16)
    parts += chain([(-0.22, 0, 0.2), (-0.52, -0.08, 0.45), (-0.68, -0.12, 0.72)],
                   [0.13, 0.105, 0.085], 14)
    hand = blend("hand", [ball((0, 0, 0), 0.01)], skin, wrist, 0.022, 7)
    hand.data = mesh_of([Matrix.Diagonal((0.85, 1, 0.85, 1)) @ part for part in parts],
                        subdivisions=3)
    hand.data.materials.append(skin)
    animate(elbow, frames, lambda s: (0, 0.1 + 0.27 * math.sin(9 * s), 0))
    animate(wrist, frames, lambda s: (0, 0.2 * math.sin(9 * s - 0.9), 0.15))


def scarf(random):
    """Adds thin cloth around the neck, with an end that the wind lifts over the screen."""
    cloth = shader_mix("cloth", 0.5, ("ShaderNodeBsdfTransparent", {}),
                       ("ShaderNodeBsdfDiffuse", {"Color": (0.75, 0.22, 0.2, 1)}))
    low, high = 0.5 + 0.5 * random.random(2)

    def around(u, v):
        turn = 2 * math.pi * u * 1.05
        out = 0.62 + 0.1 * np.sin(7 * turn + 9 * v) * (0.3 + v) + 0.35 * v
        return (HEAD.x + out * np.cos(turn), 0.15 + out * 0.9 * np.sin(turn),
                -1.45 - 0.55 * v + 0.05 * np.sin(5 * turn + low))

    def loose(u, v):
        fold = 0.09 * np.sin(5 * v * math.pi + 6 * u + high)
        return (HEAD.x - 0.5 - 1.6 * u, -0.45 + fold * (0.4 + u) - 0.25 * u,
                -1.55 - 0.6 * v + 0.55 * u - 0.5 * u * u + 0.25 * u * (0.5 - v))

    grid("scarf", 160, 24, around, cloth)
    end = grid("scarf's end", 90, 40, loose, cloth)
    wind = end.modifiers.new("wind", "WAVE")
    wind.use_x, wind.use_y, wind.use_normal = True, False, True
    wind.height, wind.width, wind.narrowness, wind.speed = 0.16, 0.9, 1.6, 0.06
    wind.start_position_object = None
    wind.time_offset = -200
    group = end.vertex_groups.new(name="free")
    for vertex in end.data.vertices:
        group.add([vertex.index], min(1, (HEAD.x - 0.5 - vertex.co.x) / 1.2), "REPLACE")
    wind.vertex_group = "free"


def wine(wall, is_still):
    if not is_still:
        grid("wine", 97, 20, lambda u, v: wall(u, 0.66 + 0.16 * v, 0.93),
             glass("wine", (0.85, 0.35, 0.3)))
        return
    # A body of its own colour, from the bottom of the bowl to a level surface.
    red = shader_mix("wine", 0.75, ("ShaderNodeBsdfTransparent", {"Color": (0.5, 0.02, 0.03, 1)}),
                     ("ShaderNodeBsdfPrincipled", {"Base Color": (0.25, 0.008, 0.02, 1),
                                                   "Roughness": 0.12, "Specular": 0.3}))
    grid("wine", 97, 40, lambda u, v: wall(u, 0.5 + 0.28 * v, 0.95), red)
    grid("surface", 97, 4, lambda u, v: wall(u, 0.78 + 0 * v, 0.95 * v), red)


def drinking_glass(is_still):
    """Adds a wine glass with one thin wall on a table."""
    profile = [(0.5, 0), (0.48, 0.03), (0.12, 0.08), (0.06, 0.2), (0.055, 0.7), (0.1, 0.8),
               (0.35, 0.98), (0.47, 1.2), (0.48, 1.45), (0.43, 1.75), (0.38, 2.0)]
    points = np.array(profile)
    at = np.linspace(0, len(points) - 1, 60)
    radius = np.interp(at, np.arange(len(points)), points[:, 0])
    height = np.interp(at, np.arange(len(points)), points[:, 1])
    radius = np.convolve(np.pad(radius, 2, "edge"), np.full(5, 0.2), "valid")
    base = Vector((-2.75, -0.6, -2.35))

    def wall(u, v, factor=1.0):
        wide = factor * np.interp(v, np.linspace(0, 1, 60), radius)
        return (base.x + wide * np.cos(u * 2 * math.pi), base.y + wide * np.sin(u * 2 * math.pi),
                base.z + np.interp(v, np.linspace(0, 1, 60), height))

    grid("glass", 97, 120, wall, glass("glass", (0.96, 0.97, 0.965)))
    wine(wall, is_still)
    wood = mottled(material("wood", (0.25, 0.12, 0.05), 0.5), (0.2, 0.09, 0.035),
                   (0.3, 0.15, 0.07), 4)
    bpy.ops.mesh.primitive_cube_add(size=1, location=(-3.3, -0.5, base.z - 0.3))
    table = bpy.context.object
    table.name, table.scale = "table", (2.5, 2.2, 0.6)
    table.data.materials.append(wood)


# --- screen, light and camera ---


def screens(random):
    """Adds the wrinkled green screen with markers, and the white one that only the camera sees."""
    green = mottled(material("screen", (0.03, 0.3, 0.06), 0.9, 0.05),
                    (0.028, 0.27, 0.052), (0.033, 0.31, 0.06), 0.8)
    waves = [(random.uniform(2, 9), random.uniform(-3, 3), random.uniform(0, 6.3),
              random.uniform(0.006, 0.03)) for _ in range(14)]

    def wrinkled(x, z):
        y = 4.0 + 0 * x
        for across, along, phase, depth in waves:
            # Powers of a sine make narrow folds between wide flat areas.
            y = y - depth * np.abs(np.sin(0.35 * across * x + 0.35 * along * z + phase)) ** 0.7
        return y

    def cloth(u, v):
        x, z = 16 * (u - 0.5), 10 * (v - 0.5) - 0.4
        return x, wrinkled(x, z), z

    real = [grid("screen", 260, 160, cloth, green)]
    tape = material("tape", (0.1, 0.48, 0.13), 0.8, 0.1)
    for x, z in ((-4.2, 1.5), (-1.9, 1.75), (1.7, 1.6), (4.2, 1.3), (4.1, -1.4), (-4.3, -0.6)):
        for width, height in ((0.3, 0.06), (0.06, 0.3)):
            def patch(u, v, x=x, z=z, w=width, h=height):
                px, pz = x + w * (u - 0.5), z + h * (v - 0.5)
                return px, wrinkled(px, pz) - 0.015, pz
            real.append(grid("marker", 6, 6, patch, tape))
    white = grid("white", 2, 2, lambda u, v: (20 * (u - 0.5), 3.9 + 0 * u, 14 * (v - 0.5)),
                 emission("white", (1, 1, 1)))
    for ray in ("diffuse", "glossy", "transmission", "volume_scatter", "shadow"):
        setattr(white, "visible_" + ray, False)
    white.lightgroup = "white"
    return real, white


def lamp(name, place, aim, size, power, color=(1, 1, 1)):
    light = bpy.data.lights.new(name, "AREA")
    light.size, light.energy, light.color = size, power, color
    made = bpy.data.objects.new(name, light)
    made.location = place
    made.rotation_euler = (Vector(aim) - Vector(place)).to_track_quat("-Z", "Y").to_euler()
    bpy.context.scene.collection.objects.link(made)
    made.visible_camera = False


def lights():
    lamp("key", (-5, -8, 4), (0, 0, -0.5), 2.5, 900, (1, 0.95, 0.88))
    lamp("fill", (6, -8, 1), (0, 0, -0.5), 4, 330, (0.9, 0.95, 1))
    lamp("rim", (4.5, 3.2, 4.5), (0, 0, 0), 1.5, 420)
    # The screen is brighter on the left.
    lamp("screen left", (-7, 0.5, 4.5), (-3, 4, 0), 2.5, 1150)
    lamp("screen right", (7, 0.5, 4.5), (3.5, 4, -0.5), 2.5, 640)
    world = bpy.data.worlds.new("dark")
    world.use_nodes = True
    world.node_tree.nodes["Background"].inputs[0].default_value = (0.03, 0.03, 0.03, 1)
    bpy.context.scene.world = world


def camera():
    view = bpy.data.cameras.new("camera")
    view.lens, view.sensor_width = 62.0, 36
    made = bpy.data.objects.new("camera", view)
    made.location, made.rotation_euler = (0, -13.8, -0.45), (math.pi / 2, 0, 0)
    bpy.context.scene.collection.objects.link(made)
    bpy.context.scene.camera = made


def build(frames, seed, is_still):
    """Returns the objects of the subject, those of the real screen, and the white screen."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    random = np.random.default_rng(seed)
    skin = mottled(material("skin", (0.6, 0.33, 0.23), 0.5, 0.3),
                   (0.56, 0.29, 0.2), (0.66, 0.38, 0.28), 1.8)
    real, white = screens(random)
    before = set(bpy.data.objects)
    head = empty("head", HEAD)
    face(head, skin)
    spectacles(head)
    hair(head, random)
    shirt = body(skin, random)
    arm(skin, shirt, frames)
    scarf(random)
    drinking_glass(is_still)
    animate(head, frames, lambda s: (0.04 * math.sin(2.1 * s), 0.03 * math.sin(1.7 * s + 1),
                                     0.16 + 0.12 * math.sin(2.6 * s)))
    subject = set(bpy.data.objects) - before
    lights()
    camera()
    return subject, real, white


# --- rendering ---


def set_up(options):
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.render.resolution_x, scene.render.resolution_y = options.width, options.width * 9 // 16
    scene.render.resolution_percentage = 100
    scene.render.fps = RATE
    scene.render.use_motion_blur, scene.render.motion_blur_shutter = True, 0.5
    scene.render.use_persistent_data = True
    scene.render.threads_mode, scene.render.threads = "FIXED", len(os.sched_getaffinity(0))
    scene.view_settings.view_transform = "Raw"
    cycles = scene.cycles
    cycles.samples, cycles.seed, cycles.use_animated_seed = options.samples, options.seed, False
    cycles.use_adaptive_sampling = cycles.use_denoising = False
    cycles.max_bounces, cycles.diffuse_bounces, cycles.glossy_bounces = 2, 1, 1
    cycles.transmission_bounces, cycles.transparent_max_bounces = 1, 32
    cycles.caustics_reflective = cycles.caustics_refractive = False
    cycles.sample_clamp_indirect = 3
    if options.still:
        cycles.sample_clamp_direct = 4
    bpy.context.view_layer.lightgroups.add(name="white")
    scene.use_nodes = True
    nodes, links = scene.node_tree.nodes, scene.node_tree.links
    nodes.clear()
    layers = nodes.new("CompositorNodeRLayers")
    through = layers.outputs["Combined_white"]
    subject = nodes.new("CompositorNodeMixRGB")
    subject.blend_type = "SUBTRACT"
    links.new(layers.outputs["Image"], subject.inputs[1])
    links.new(through, subject.inputs[2])
    nodes.new("CompositorNodeComposite")
    outputs = {}
    for name, socket in (("real", layers.outputs["Image"]), ("subject", subject.outputs[0]),
                         ("through", through)):
        output = nodes.new("CompositorNodeOutputFile")
        output.base_path = str(options.folder.resolve())
        output.format.file_format, output.format.color_depth = "OPEN_EXR", "16"
        output.format.color_mode, output.format.exr_codec = "RGB", "ZIP"
        links.new(socket, output.inputs[0])
        outputs[name] = output
    return outputs


def render(outputs, names, prefix=""):
    for name, output in outputs.items():
        output.mute = name not in names
        # A file that is being written has another name, so that it is not taken for a whole one.
        output.file_slots[0].path = "part-" + (prefix or name) + "-"
    bpy.ops.render.render()
    for name in names:
        name = prefix or name
        part = pathlib.Path(outputs["real"].base_path) / (
            "part-%s-%04d.exr" % (name, bpy.context.scene.frame_current))
        part.rename(part.with_name(part.name[5:]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    for name, value in (("frames", 60), ("seed", 1), ("width", 640), ("samples", 24), ("first", 1)):
        parser.add_argument("--" + name, type=int, default=value)
    for name in "--real", "--still":
        parser.add_argument(name, action="store_true")
    options = parser.parse_args(sys.argv[sys.argv.index("--") + 1:])
    options.folder.mkdir(parents=True, exist_ok=True)
    subject, real, white = build(options.frames, options.seed, options.still)
    outputs = set_up(options)
    scene = bpy.context.scene

    def has(name, frame):
        return (options.folder / ("%s-%04d.exr" % (name, frame))).exists()

    for frame in range(options.first, options.frames + 1):
        scene.frame_set(frame)
        if options.real and not has("real", frame):
            white.hide_render = True
            render(outputs, ["real"])
        if not has("through", frame):
            white.hide_render = False
            for thing in real:
                thing.visible_camera = False
            render(outputs, ["subject", "through"])
            for thing in real:
                thing.visible_camera = True
    if not has("plate", 1):
        white.hide_render = True
        for thing in subject:
            thing.hide_render = True
        scene.frame_set(1)
        scene.cycles.samples = PLATE_SAMPLES
        render(outputs, ["real"], "plate")


if __name__ == "__main__":
    main()
